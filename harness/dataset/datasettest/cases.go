package datasettest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
)

// CaseImage is an image of a case.
type CaseImage struct {
	ID, Path, Caption, Modality, Submodality string
	File                                     []byte
}

// MedCase is a row of MedThinkVQA's files.
type MedCase struct {
	Title, History, Findings, Discussion, Interval string
	Options                                        map[string]string
	Answer                                         string
	Chapter, Block, Category                       string
	Longitudinal                                   bool
	Timepoints                                     int
	Images                                         []CaseImage
}

// MedCases are made-up cases of 1 to 12 images, with bars and discs drawn on them. Every
// fifth has no discussion, every fourth no captions, every third discussion no headings;
// every second image is an RGBA PNG, all are named .jpg.
func MedCases(n int) ([]MedCase, error) {
	names := []string{"Bar dysplasia", "Disc effusion", "Ring atrophy", "Cross oedema", "Blank normality"}
	modalities := []string{"CT", "MRI", "X-ray", "Ultrasound"}
	out := make([]MedCase, n)
	for i := range out {
		gold := i % 5
		c := MedCase{
			Title:    fmt.Sprintf("A rare look of %s (%d)", strings.ToLower(names[gold]), i),
			History:  fmt.Sprintf("A person of %d years came with complaint number %d.", 30+i%50, i),
			Findings: fmt.Sprintf("SECRET-FINDINGS-%d: the figures of %s show.", i, strings.ToLower(names[gold])),
			Interval: fmt.Sprintf("SECRET-INTERVAL-%d", i), Options: map[string]string{}, Answer: string(rune('A' + gold)),
			Chapter: []string{"Diseases of the respiratory system", "Neoplasms"}[i%2], Block: "J00-J06", Category: "J01",
			Longitudinal: i%2 == 1, Timepoints: 1 + i%2,
		}
		for k, name := range names {
			c.Options[string(rune('A'+k))] = name
		}
		switch {
		case i%5 == 4:
		case i%3 == 0:
			c.Discussion = fmt.Sprintf("SECRET-DISCUSSION-%d in one piece.", i)
		default:
			c.Discussion = fmt.Sprintf("Background\nSECRET-DISCUSSION-%d begins.\n\nClinical Perspective:\nThey came early.\nImaging perspective\nThe figures decide.\n**Outcome:** All went well.\nTake Home Message / Teaching Points\nLook twice.", i)
		}
		for k := range 1 + i%12 {
			b, err := casePicture(i, k)
			if err != nil {
				return nil, err
			}
			id := fmt.Sprintf("img%d%02d", i, k)
			im := CaseImage{ID: id, Path: fmt.Sprintf("images/case%05d/%s.jpg", 100+i, id), Modality: modalities[(i+k)%len(modalities)], Submodality: "axial", File: b}
			if i%4 != 3 {
				im.Caption = fmt.Sprintf("SECRET-CAPTION-%d-%d", i, k)
			}
			c.Images = append(c.Images, im)
		}
		out[i] = c
	}
	return out, nil
}

// casePicture is a small picture: a JPEG, or an RGBA PNG.
func casePicture(i, k int) ([]byte, error) {
	img := image.NewNRGBA(image.Rect(0, 0, 40+4*(i%5), 36+4*(k%4)))
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			v := uint8(20 + 5*x + 3*y)
			if x/6 == (i+k)%6 {
				v = 240
			}
			img.SetNRGBA(x, y, color.NRGBA{v, v, uint8(i * 7), 255 - uint8(k%2)*60})
		}
	}
	var b bytes.Buffer
	if k%2 == 1 {
		err := png.Encode(&b, img)
		return b.Bytes(), err
	}
	err := jpeg.Encode(&b, img, nil)
	return b.Bytes(), err
}

// Line is a case as a line of JSON. asText writes the options as JSON in a text.
func (c MedCase) Line(asText bool) ([]byte, error) {
	m := map[string]any{"title": c.Title, "CLINICAL_HISTORY": c.History, "IMAGING_FINDINGS": c.Findings, "discussion": c.Discussion, "interval_text": c.Interval,
		"options": c.Options, "correct_answer": c.Answer, "correct_answer_text": c.Options[c.Answer], "ICD Chapter": c.Chapter, "ICD Block": c.Block, "ICD Category": c.Category,
		"is_longitudinal": c.Longitudinal, "timepoint_count": c.Timepoints, "image_count": len(c.Images), "url": "https://example.org/no/business/of/ours"}
	if asText {
		b, err := json.Marshal(c.Options)
		if err != nil {
			return nil, err
		}
		m["options"] = string(b)
	}
	for k := range 49 {
		im := CaseImage{}
		if k < len(c.Images) {
			im = c.Images[k]
		}
		for part, v := range map[string]string{"id": im.ID, "path": im.Path, "caption": im.Caption, "modality": im.Modality, "sub_modality": im.Submodality} {
			m[fmt.Sprintf("image_%02d_%s", k+1, part)] = orNil(v)
		}
	}
	return json.Marshal(m)
}

// WriteMedThinkVQA writes a folder in MedThinkVQA's format: SPLIT.jsonl and images/.
func WriteMedThinkVQA(dir, split string, cases []MedCase, optionsAsText bool) error {
	var all bytes.Buffer
	for _, c := range cases {
		line, err := c.Line(optionsAsText)
		if err != nil {
			return fmt.Errorf("write a synthetic MedThinkVQA folder: %w", err)
		}
		all.Write(append(line, '\n'))
		for _, im := range c.Images {
			file := filepath.Join(dir, im.Path)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return fmt.Errorf("write a synthetic MedThinkVQA folder: %w", err)
			}
			if err := os.WriteFile(file, im.File, 0o644); err != nil {
				return fmt.Errorf("write a synthetic MedThinkVQA folder: %w", err)
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, split+".jsonl"), all.Bytes(), 0o644)
}
