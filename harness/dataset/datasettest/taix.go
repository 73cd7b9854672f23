package datasettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// TAIXRow is a row of TAIX-VQA's files, all columns in their order.
type TAIXRow struct {
	UID              string    `parquet:"UID,optional,dict"`
	Question         string    `parquet:"Question,optional,dict"`
	Answer           string    `parquet:"Answer,optional,dict"`
	Type             string    `parquet:"Type,optional,dict"`
	PatientID        string    `parquet:"PatientID,optional,dict"`
	Age              int64     `parquet:"Age,optional"`
	HeartSize        int64     `parquet:"HeartSize,optional"`
	Congestion       int64     `parquet:"PulmonaryCongestion,optional"`
	EffusionRight    int64     `parquet:"PleuralEffusion_Right,optional"`
	EffusionLeft     int64     `parquet:"PleuralEffusion_Left,optional"`
	OpacitiesRight   int64     `parquet:"PulmonaryOpacities_Right,optional"`
	OpacitiesLeft    int64     `parquet:"PulmonaryOpacities_Left,optional"`
	AtelectasisRight int64     `parquet:"Atelectasis_Right,optional"`
	AtelectasisLeft  int64     `parquet:"Atelectasis_Left,optional"`
	Split            string    `parquet:"Split,optional,dict"`
	PhysicianID      string    `parquet:"PhysicianID,optional,dict"`
	StudyDate        string    `parquet:"StudyDate,optional,dict"`
	Sex              string    `parquet:"Sex,optional,dict"`
	Image            TAIXImage `parquet:"Image,optional"`
}

// TAIXImage is an embedded picture.
type TAIXImage struct {
	Bytes []byte `parquet:"bytes,optional,dict"`
	Path  string `parquet:"path,optional"`
}

// Patients are words that stand in what identifies a patient, and nowhere else.
func Patients() []string { return []string{"PAT-", "DR-", "1987-0", "1.2.826"} }

// taixQuestion is a question with the site it asks about.
type taixQuestion struct {
	text, kind string
	sites      []int // of taixSites
}

// taixSite is a place of the picture that is white by its grade, in per cent.
type taixSite struct {
	name   string
	box    [4]int
	grades []string
}

func taixSites() []taixSite {
	severity := []string{"none", "questionable", "mild", "moderate", "severe"}
	present := []string{"no", "yes"}
	return []taixSite{
		{"pleural effusion on the right", [4]int{5, 70, 35, 95}, severity}, {"pleural effusion on the left", [4]int{65, 70, 95, 95}, severity},
		{"opacities on the right", [4]int{5, 20, 25, 45}, severity}, {"opacities on the left", [4]int{75, 20, 95, 45}, severity},
		{"atelectasis on the right", [4]int{10, 48, 30, 68}, severity}, {"atelectasis on the left", [4]int{70, 48, 90, 68}, severity},
		{"pneumothorax on the right", [4]int{5, 5, 30, 18}, severity}, {"pneumothorax on the left", [4]int{70, 5, 95, 18}, severity},
		{"congestion", [4]int{35, 30, 65, 36}, severity},
		{"heart", [4]int{35, 38, 65, 60}, []string{"normal", "borderline", "enlarged", "massively enlarged"}},
		{"venous catheter", [4]int{45, 5, 48, 25}, []string{"not present", "correct", "too low", "too high"}},
		{"gastric tube", [4]int{49, 65, 51, 95}, present},
		{"endotracheal tube", [4]int{50, 10, 53, 30}, []string{"not present", "correctly positioned", "too low", "too high"}},
		{"pacemaker", [4]int{55, 5, 60, 12}, present},
		{"chest tube", [4]int{32, 62, 45, 66}, []string{"none", "right", "left", "both"}},
		{"nodule", [4]int{60, 46, 64, 50}, present}, {"costodiaphragmatic angle", [4]int{36, 90, 40, 94}, present},
	}
}

// taixQuestions are 32, of all four types. One has no region.
func taixQuestions() []taixQuestion {
	const yesNo, severity, sides = " (yes or no)", " (none, questionable, mild, moderate, severe)", " (right, left, same severity, none)"
	var out []taixQuestion
	sites := taixSites()
	for i := range 8 {
		out = append(out, taixQuestion{"Can one make out " + sites[i].name + "?" + yesNo, "binary", []int{i}})
	}
	for i := range 6 {
		out = append(out, taixQuestion{"What grade of " + sites[i].name + " is there?" + severity, "ordinal", []int{i}})
	}
	for i := 0; i < 6; i += 2 {
		name, _, _ := strings.Cut(sites[i].name, " on the")
		out = append(out, taixQuestion{"Of " + name + ", which side has more?" + sides, "comparison", []int{i, i + 1}})
	}
	add := func(text, kind string, site int) { out = append(out, taixQuestion{text, kind, []int{site}}) }
	add("Can one make out congestion?"+yesNo, "binary", 8)
	add("What grade of congestion is there?"+severity, "ordinal", 8)
	add("Can one make out cardiomegaly?"+yesNo, "binary", 9)
	add("How big is the heart? (normal, borderline, enlarged, massively enlarged)", "ordinal", 9)
	add("Can one make out a venous catheter?"+yesNo, "binary", 10)
	add("How does the venous catheter lie? (not present, correctly positioned, too low, too high)", "spatial", 10)
	add("Can one make out a gastric tube?"+yesNo, "binary", 11)
	add("Can one make out an endotracheal tube?"+yesNo, "binary", 12)
	add("How does the endotracheal tube lie? (not present, correctly positioned, too low, too high)", "spatial", 12)
	add("Can one make out a pacemaker?"+yesNo, "binary", 13)
	add("Can one make out a chest tube?"+yesNo, "binary", 14)
	add("Where is there a chest tube? (right, left, both, none)", "spatial", 14)
	add("Can one make out a nodule?"+yesNo, "binary", 15)
	add("Can one make out the costodiaphragmatic angle? (yes/no)", "binary", 16)
	out = append(out, taixQuestion{"Is the film malrotated?" + yesNo, "binary", nil})
	return out
}

// taixGrade is the grade of a site in an image, by a fixed draw.
func taixGrade(image, site, grades int) int {
	h := sha256.Sum256(fmt.Appendf(nil, "taix %d %d", image, site))
	return int(h[0]) % grades
}

// TAIXRows are the rows of so many images, 32 each. They have what is known of
// the data set's traps: "comparison", "absent" for none, "correct" beside
// "correctly positioned", other case.
func TAIXRows(images, side int) ([]TAIXRow, error) {
	var rows []TAIXRow
	sites := taixSites()
	for i := range images {
		b, err := taixPicture(i, side)
		if err != nil {
			return nil, fmt.Errorf("draw image %d: %w", i, err)
		}
		uid := fmt.Sprintf("1.2.826.%d", 7000+i)
		grade := func(s int) int { return taixGrade(i, s, len(sites[s].grades)) }
		for n, q := range taixQuestions() {
			r := TAIXRow{UID: uid, Question: q.text, Type: q.kind, Split: "test", PatientID: fmt.Sprintf("PAT-%04d", i), Age: int64(20000 + i),
				PhysicianID: fmt.Sprintf("DR-%d", i%5), StudyDate: "1987-01-0" + fmt.Sprint(1+i%9), Sex: pick(i%2 == 0, "F", "M"),
				HeartSize: int64(grade(9)), Congestion: int64(grade(8)), EffusionRight: int64(grade(0)), EffusionLeft: int64(grade(1)),
				OpacitiesRight: int64(grade(2)), OpacitiesLeft: int64(grade(3)), AtelectasisRight: int64(grade(4)), AtelectasisLeft: int64(grade(5)),
				Image: TAIXImage{Bytes: b, Path: fmt.Sprintf("PAT-%04d_1987-01.png", i)}}
			switch {
			case len(q.sites) == 0:
				r.Answer = "no"
			case q.kind == "comparison":
				right, left := grade(q.sites[0]), grade(q.sites[1])
				r.Answer = pick(right > left, "right", pick(left > right, "left", pick(right > 0, "same severity", pick(i%2 == 0, "none", "absent"))))
			case q.kind == "binary":
				r.Answer = pick(grade(q.sites[0]) > 0, "yes", "no")
			default:
				r.Answer = sites[q.sites[0]].grades[grade(q.sites[0])]
			}
			if (i+n)%7 == 0 {
				r.Answer = strings.ToUpper(r.Answer[:1]) + r.Answer[1:]
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// taixPicture is a 16-bit grey PNG of 12 significant bits, with the noise of a
// detector: sites are white by grade.
func taixPicture(i, side int) ([]byte, error) {
	img := image.NewGray16(image.Rect(0, 0, side, side))
	noise := uint32(i + 1)
	for p := range side * side {
		noise = noise*1664525 + 1013904223
		v := 900 + 300*(p/side)/side + int(noise>>25)
		img.Pix[2*p], img.Pix[2*p+1] = uint8(v>>8), uint8(v)
	}
	for n, s := range taixSites() {
		g := 2400 * taixGrade(i, n, len(s.grades)) / (len(s.grades) - 1)
		for y := s.box[1] * side / 100; y < s.box[3]*side/100; y++ {
			for x := s.box[0] * side / 100; x < s.box[2]*side/100; x++ {
				img.SetGray16(x, y, color.Gray16{Y: uint16(min(int(img.Gray16At(x, y).Y)+g, 4095))})
			}
		}
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	return b.Bytes(), err
}

// TAIXKnowledge is a knowledge base of the questions of TAIXRows. It has the traps
// of the published one: "correct" for an answer that is offered as "correctly
// positioned". Without gaps it knows every answer; with gaps, the endotracheal
// tube that is too high and the costodiaphragmatic angle are missing.
func TAIXKnowledge(gaps bool) []byte {
	type m = map[string]any
	base := m{}
	sites := taixSites()
	for _, q := range taixQuestions() {
		name, words := "rotation", []string{"yes", "no"}
		if len(q.sites) > 0 {
			name, _, _ = strings.Cut(sites[q.sites[0]].name, " on the")
			words = sites[q.sites[0]].grades
		}
		switch q.kind {
		case "binary":
			words = []string{"yes", "no"}
		case "comparison":
			words = []string{"right", "left", "same severity", "none"}
		}
		if gaps && name == "costodiaphragmatic angle" {
			continue
		}
		answers := m{}
		for _, a := range words {
			if gaps && name == "endotracheal tube" && a == "too high" {
				continue
			}
			said := m{"term": a + " " + name, "synonyms": []string{name + " " + a}}
			none := m{"term": "no " + name, "synonyms": []string{"free of " + name}}
			if a == "no" || a == "none" || a == "not present" {
				answers[a] = m{"must_all": []m{none}, "at_least_k_of": []m{}, "forbidden": []m{said}}
				continue
			}
			answers[a] = m{"must_all": []m{}, "at_least_k_of": []m{{"k": 1, "any_of": []m{said, {"term": "white patch", "synonyms": []string{"bright patch"}}}}},
				"forbidden": []m{none}, "context": m{"notes": []string{"Small patches count."}, "caps": []m{{"if": "the side is not named", "max_score": 4}}}}
		}
		kind := q.kind
		if kind == "comparison" {
			kind = "comparative"
		}
		base[q.text] = m{"type": kind, "projection_hint": "a drawn picture", "answers": answers,
			"additional_guidance": m{"disambiguation_rules": []string{"The picture's left is the patient's right."}, "acceptable_alternate_terminology": [][]string{{"patch", "spot"}}}}
	}
	b, err := json.MarshalIndent(base, "", " ")
	if err != nil {
		panic("datasettest: internal error: " + err.Error()) // texts and numbers always encode
	}
	return b
}
