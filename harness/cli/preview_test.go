package cli

import (
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/perturb"
)

func TestDifferences(t *testing.T) {
	a, b := perturb.NewPixels(4, 1, 1), perturb.NewPixels(4, 1, 3)
	copy(a.Pix, []uint8{10, 200, 200, 0})
	copy(b.Pix, []uint8{10, 10, 10, 200, 210, 199, 0, 255, 255, 0, 0, 255})
	d := previewCondition{pixels: b}
	d.compare(a)
	if d.Changed != .75 || d.Max != 255 || d.Mean != float64(10+200+255)/4 {
		t.Errorf("%+v", d)
	}
	img := differences(a, b)
	red := func(x int) uint8 { return color.RGBAModel.Convert(img.At(x, 0)).(color.RGBA).R }
	if red(0) > 10 || !(red(1) < red(2) && red(2) < red(3)) || red(1) < 48 {
		t.Errorf("reds %d %d %d %d", red(0), red(1), red(2), red(3))
	}
	// A picture of another size is compared as if it had that of the baseline.
	a, b = perturb.NewPixels(4, 4, 1), perturb.NewPixels(2, 3, 1)
	copy(a.Pix, []uint8{1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4, 5, 5, 6, 9})
	copy(b.Pix, []uint8{1, 2, 3, 4, 5, 6})
	d = previewCondition{pixels: b}
	d.compare(a) // rows 0, 0, 1, 2 of b
	if d.Changed != 5./16 || d.Max != 3 || d.Mean != float64(4*2+3)/16 {
		t.Errorf("of another size: %+v", d)
	}
	if size := differences(a, b).Bounds().Size(); size != image.Pt(4, 4) {
		t.Errorf("differences of %v", size)
	}
}

// A sheet shows every condition but those that only say something, and the
// pictures are where their captions are.
func TestSheet(t *testing.T) {
	base := perturb.NewPixels(300, 200, 1)
	for i := range base.Pix {
		base.Pix[i] = 100
	}
	white := perturb.NewPixels(300, 200, 1)
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	s := previewSubject{Item: dataset.Item{Regions: map[string][]perturb.Region{"": {{X0: 10, Y0: 10, X1: 90, Y1: 90}}}}}
	p := &sheet{Width: 300, Height: 200}
	for _, name := range []string{"a", "b", "c", "d"} {
		d := previewCondition{Condition: name, pixels: white}
		if name == "b" {
			d.Cue = "said"
		}
		d.compare(base)
		p.Conditions = append(p.Conditions, d)
	}
	img := s.sheet(p, base, nil)
	// 256 wide, 171 high; four tiles (the baseline's and three) in rows of three.
	if got, want := img.Bounds().Size(), image.Pt(3*(2*256+3*gap), 2*(171+line+gap)+gap); got != want {
		t.Errorf("the sheet is %v, want %v", got, want)
	}
	at := func(x, y int) uint8 { return color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y }
	tile, row := 2*256+3*gap, 171+line+gap
	for i, want := range []uint8{100, 255, 255} {
		if got := at(i*tile+gap+128, gap+line+85); got != want {
			t.Errorf("tile %d shows %d, want %d", i, got, want)
		}
	}
	if at(gap+128, row+gap+line+85) != 255 || at(tile+gap+128, row+gap+line+85) == 255 {
		t.Error("the second row does not hold one tile")
	}
	one := &sheet{Width: 300, Height: 200, Conditions: p.Conditions[:1]}
	if got, want := s.sheet(one, base, nil).Bounds().Size(), image.Pt(3*300+4*gap, 200+line+2*gap); got != want {
		t.Errorf("one condition: %v, want %v", got, want)
	}
	cells := []cell{{"VO-GRID@2x1:r1c1", [4]int{0, 0, 150, 200}, true}, {"VO-GRID@2x1:r1c2", [4]int{150, 0, 300, 200}, false}}
	img = s.sheet(&sheet{Width: 300, Height: 200}, base, cells)
	if a, b := at(gap+100, gap+line+100), at(gap+200, gap+line+100); a == 100 || b != 100 {
		t.Errorf("the cell inside a region shows %d, the other %d", a, b)
	}
}

func TestChosenConditions(t *testing.T) {
	all, err := choiceOf("")
	if err != nil || !slices.Contains(all.Conditions, "VO-BB") || !slices.Contains(all.Conditions, "VD-JPEG") {
		t.Errorf("all are %v, %v", all, err)
	}
	c, err := choiceOf("VB-HM-@opacity=0.25")
	if err != nil || len(c.Conditions) > 0 || len(c.Sweeps) != 1 || c.Sweeps[0].Condition != "VB-HM-" || c.Sweeps[0].Param != "opacity" || c.Sweeps[0].Levels[0] != .25 {
		t.Errorf("a level: %+v, %v", c, err)
	}
	if c, err := choiceOf("VO-GRID@4x3:r1c2"); err != nil || c.Grid != (perturb.Grid{Columns: 4, Rows: 3}) {
		t.Errorf("a cell: %+v, %v", c, err)
	}
	for _, bad := range []string{"x", "VO-BB@", "VO-BB@a", "VO-GRID@4:r1c2", "VO-GRID@0x2:r1c1"} {
		if _, err := choiceOf(bad); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A picture of one pixel has no other place for a control: the others are drawn.
func TestOnePixel(t *testing.T) {
	file, err := perturb.EncodePNG(perturb.NewPixels(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	it := dataset.Item{ID: "dot", Type: dataset.TypeSpatial, Answer: "here", Options: []dataset.Option{{Text: "here"}, {Text: "there"}},
		Regions: map[string][]perturb.Region{"": {{X1: 100, Y1: 100}}}}
	s := previewSubject{Name: "dot", Item: it, Made: true, File: file, Seed: 1, Pixels: 1}
	all, err := choiceOf("")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := s.Draw("", all, perturb.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	left := func(name string) bool {
		return slices.ContainsFunc(p.LeftOut, func(l leftOut) bool { return l.Condition == name && strings.Contains(l.Why, "no other place") })
	}
	if !left("VC-BB") || left("VO-BB") || !slices.ContainsFunc(p.Conditions, func(c previewCondition) bool { return c.Condition == "VO-BB" }) {
		t.Errorf("left out: %+v", p.LeftOut)
	}
	one, err := choiceOf("VC-BB")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Draw("VC-BB", one, perturb.Grid{}); err == nil {
		t.Error("the control alone is drawn")
	}
}

// Levels stand in a row from the least on, the default too, and their differences below.
func TestLevels(t *testing.T) {
	grey := perturb.NewPixels(300, 300, 1)
	for i := range grey.Pix {
		grey.Pix[i] = uint8(i % 300 / 3)
	}
	file, err := perturb.EncodePNG(grey)
	if err != nil {
		t.Fatal(err)
	}
	it := dataset.Item{ID: "ramp", Type: dataset.TypeSpatial, Answer: "here", Options: []dataset.Option{{Text: "here"}, {Text: "there"}},
		Regions: map[string][]perturb.Region{"": {{X0: 30, Y0: 30, X1: 70, Y1: 70}}}}
	s := previewSubject{Name: "ramp", Item: it, Made: true, File: file, Seed: 1, Pixels: 1}
	sw, err := levelsOf("opacity=.9,0,0.5, .9", "VH-HM")
	if err != nil || sw.Condition != "VH-HM" || !slices.Equal(sw.Levels, []float64{0, .5, .9}) {
		t.Fatalf("%+v, %v", sw, err)
	}
	sheets, img, err := levels([]previewSubject{s, s}, sw)
	if err != nil || len(sheets) != 2 || len(sheets[0].Conditions) != 3 {
		t.Fatalf("%d sheets, %v", len(sheets), err)
	}
	if got, want := img.Bounds().Size(), image.Pt(4*(256+2*gap), 4*(256+line+gap)+gap); got != want {
		t.Errorf("the sheet is %v, want %v", got, want)
	}
	red := func(column, row int) int {
		c := color.RGBAModel.Convert(img.At(column*(256+2*gap)+gap+128, row*(256+line+gap)+gap+line+128)).(color.RGBA)
		return int(c.R) - int(c.G)
	}
	for row := range 4 {
		if a, b, c := red(1, row), red(2, row), red(3, row); row%2 == 0 && !(a == 0 && a < b && b < c) || row%2 == 1 && (a != 0 || b == 0 || c == 0) {
			t.Errorf("row %d has reds %d %d %d", row, a, b, c)
		}
	}
	for i, d := range sheets[1].Conditions {
		if d.Param != "opacity" || d.Level != sw.Levels[i] || (d.Max == 0) != (d.Level == 0) {
			t.Errorf("level %v: %+v", sw.Levels[i], d)
		}
	}
	if _, err := levelsOf("opacity=0,.01,.02,.03,.04,.05,.06,.07,.08,.09,.1,.11,.12", "VH-HM"); err == nil {
		t.Error("thirteen levels are drawn")
	}
	if _, _, err := levels(make([]previewSubject, 13), sw); err == nil {
		t.Error("thirteen pictures are drawn")
	}
}
