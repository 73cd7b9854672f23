package cot

import (
	"fmt"
	"slices"
	"testing"
)

func TestGroupOf(t *testing.T) {
	for name, want := range map[string]string{
		"X-ray": "radiography", "Chest X-Ray": "radiography", "Mammography": "radiography", "Digital subtraction angiography (DSA)": "radiography", "radiograph": "radiography",
		"CT": "CT, MRI and nuclear", "CT angiography": "CT, MRI and nuclear", "PET-CT": "CT, MRI and nuclear", "MRI (T2)": "CT, MRI and nuclear", "Magnetic resonance imaging": "CT, MRI and nuclear",
		"Ultrasound": "ultrasound", "Endoscopic ultrasound": "ultrasound", "B-mode ultrasonography": "ultrasound", "Echocardiography": "ultrasound",
		"Colonoscopy": "endoscopy", "Capsule endoscopy": "endoscopy", "Colposcopy": "endoscopy",
		"Histopathology": "microscopy", "Blood smear": "microscopy", "Electron microscopy": "microscopy",
		"Fundus photography": "eye and skin", "OCT": "eye and skin", "OCT angiography": "eye and skin", "Optical coherence tomography": "eye and skin", "Dermoscopy": "eye and skin",
		"ECG": otherGroup, "Infrared thermography": otherGroup, "": "", " - ": "",
		"Tact": otherGroup, // not CT
	} {
		if got := groupOf(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if want != "" && !slices.Contains(groupNames(), want) {
			t.Errorf("%q is no group", want)
		}
	}
	for _, g := range groups() {
		if !slices.Contains(groupNames(), g.name) {
			t.Errorf("%q is not among Groups", g.name)
		}
	}
}

func TestTypes(t *testing.T) {
	found := []string{"", "CT", "ECG", "Fundus", "X-ray", "MRI", "Ultrasound"}
	if got, want := examinations(found), []string{"X-ray", "CT", "MRI", "Ultrasound", "Fundus", "ECG"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if found[0] != "" {
		t.Error("what was found was changed")
	}
	for i := range mostExaminations {
		found = append(found, fmt.Sprint("A sentence about picture ", i))
	}
	if got := examinations(found); got != nil {
		t.Errorf("sentences are types: %q", got)
	}
	if got := present([]string{otherGroup, "", "radiography"}); !slices.Equal(got, []string{"radiography", otherGroup}) {
		t.Errorf("%q", got)
	}
}
