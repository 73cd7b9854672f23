// Package phantom is the phantom data set: chest radiographs whose findings and devices
// are known exactly, what one can ask about them and what is right, and readers of them.
//
//  1. New draws what a case holds: graded, sided findings, devices, exposure. Render
//     turns that into pixels, in integers only: same scene, same bytes.
//  2. Questions words what can be asked, with the gold answer and gold paths; types,
//     tasks and answers are asked equally often (balance.go).
//  3. Understand finds in a prompt's text alone what it asks. Solve answers a query from
//     findings: from the truth it gives the gold answer, from what a reader saw the
//     reader's.
//  4. Films is the skill of phantom readers: it answers as a reader's Profile says. A
//     reader knows the request and nothing else, least of all the case behind the picture.
package phantom

import "assay/backends/phantom"

// Version changes whenever the same seed, index and size would give another file
// or other words than before: with it they name a picture and its questions.
const Version = 6

// Site is one thing a scene can hold.
type Site int

// The sites. Right and left are the patient's: right is on the image's left.
const (
	effusionRight Site = iota
	effusionLeft
	opacityRight
	opacityLeft
	atelectasisRight
	atelectasisLeft
	heart
	congestion
	venousCatheter
	gastricTube
	chestTubeRight
	chestTubeLeft
	pacemaker
	exposure
	NumSites
)

// Grades of the graded findings. A device is Absent, Placed or Misplaced.
const (
	none         = 0
	questionable = 1
	mildGrade    = 2
	moderate     = 3
	severe       = 4

	normal     = 0
	borderline = 1
	enlarged   = 2
	massive    = 3

	absent    = 0
	placed    = 1
	misplaced = 2

	adequate = 0
	tooDark  = 1
	tooPale  = 2
)

// box is a part of the picture in percent of its width and height: x0 y0 x1 y1.
type box [4]int

type siteInfo struct {
	key    string // region name, as data sets of chest radiographs use it
	box    box
	grades []string
	shows  []zone // where it is seen: what covers one of these hides it
}

var (
	severity  = []string{"none", "questionable", "mild", "moderate", "severe"}
	position  = []string{"not present", "correctly positioned", "not correctly positioned"}
	siteInfos = [NumSites]siteInfo{
		effusionRight:    {"PleuralEffusion_Right", box{5, 70, 35, 95}, severity, []zone{{76, 600, 102, 935}}},
		effusionLeft:     {"PleuralEffusion_Left", box{65, 70, 95, 95}, severity, []zone{zone{76, 600, 102, 935}.mirrored()}},
		opacityRight:     {"PulmonaryOpacities_Right", box{5, 20, 40, 80}, severity, []zone{opacityZone}},
		opacityLeft:      {"PulmonaryOpacities_Left", box{60, 20, 95, 80}, severity, []zone{opacityZone.mirrored()}},
		atelectasisRight: {"Atelectasis_Right", box{10, 30, 40, 70}, severity, []zone{atelectasisZone}},
		atelectasisLeft:  {"Atelectasis_Left", box{60, 30, 90, 70}, severity, []zone{atelectasisZone.mirrored()}},
		heart:            {"HeartSize", box{30, 35, 70, 65}, []string{"normal", "borderline", "enlarged", "massively enlarged"}, []zone{{110, 560, 890, 600}}},
		congestion:       {"PulmonaryCongestion", box{20, 25, 80, 55}, severity, []zone{congestionZone, congestionZone.mirrored()}},
		venousCatheter:   {"CentralVenousCatheter", box{40, 5, 60, 30}, position, []zone{{405, 75, 455, 125}, {435, 215, 480, 290}}},
		gastricTube:      {"GastricTube", box{40, 65, 60, 95}, position, []zone{{505, 660, 560, 715}, {515, 780, 610, 850}}},
		chestTubeRight:   {"ChestTube_Right", box{15, 40, 45, 70}, position, []zone{{155, 555, 192, 630}, {225, 525, 262, 615}}},
		chestTubeLeft:    {"ChestTube_Left", box{55, 40, 85, 70}, position, []zone{zone{155, 555, 192, 630}.mirrored(), zone{225, 525, 262, 615}.mirrored()}},
		pacemaker:        {"CardiacPacemaker", box{40, 5, 60, 30}, []string{"not present", "present"}, []zone{zone{145, 140, 191, 178}.mirrored(), {480, 210, 505, 290}}},
		exposure:         {"Exposure", box{0, 0, 100, 100}, []string{"adequate", "too dark", "too pale"}, nil},
	}
)

// String is the region's name: "PleuralEffusion_Right".
func (s Site) String() string { return siteInfos[s].key }

// Box is where the site shows.
func (s Site) Box() box { return siteInfos[s].box }

// Grades are the words of the site's scale, least first.
func (s Site) Grades() []string { return siteInfos[s].grades }

// Device reports whether the site is a line, tube or implant.
func (s Site) Device() bool { return s >= venousCatheter && s <= pacemaker }

// reading is what is known of one site.
type reading struct {
	Grade int  // index into Site.Grades
	Sure  bool // false: it cannot be seen (covered, cut off, or not a chest)
}

// Findings are the readings of all sites.
type Findings [NumSites]reading

// Scene is one case. Its zero value is not usable; see New.
type Scene struct {
	seed  uint64
	index int
	truth Findings
	body  uint64 // below bodies: what look is drawn from
	look  look
}

// bodies is how many there are of each truth: with it, a film's number has 56 bits.
const bodies = 1 << 28

// look is what varies between bodies without meaning anything.
type look struct {
	shiftX, shiftY int64 // fixed point
	widen          int64 // thorax width, one = as drawn
	heart          int64 // cardiothoracic ratio, fixed point
	fluid          [2]int64
	gain           int64 // exposure jitter, one = none
	clock          int   // seconds of the day, printed on the film
	texture        uint64
}

// NewScene draws case number index of a seed.
func NewScene(seed uint64, index int) Scene {
	r := phantom.NewSource(phantom.Mix(seed) ^ phantom.Mix(uint64(index)+0x632BE59BD9B4E019))
	s := Scene{seed: seed, index: index}
	line, tube := []int{55, 27, 18}, []int{80, 12, 8}
	often := [NumSites][]int{heart: {40, 18, 22, 20}, venousCatheter: line, gastricTube: line, chestTubeRight: tube,
		chestTubeLeft: tube, pacemaker: {70, 30}, exposure: {70, 15, 15}}
	for site, weights := range often {
		if weights == nil { // a graded finding
			weights = []int{40, 12, 16, 16, 16}
		}
		s.truth[site] = reading{r.Weighted(weights...), true}
	}
	s.body = r.Next() % bodies
	s.vary()
	return s
}

// showing draws a case that holds what truth says: its bodies are others than New's.
func showing(seed uint64, index int, truth Findings) Scene {
	r := phantom.NewSource(phantom.Mix(seed^0x73686F77) ^ phantom.Mix(uint64(index)+0x632BE59BD9B4E019))
	s := Scene{seed: seed, index: index, truth: truth, body: r.Next() % bodies}
	s.vary()
	return s
}

// vary draws what means nothing, and how big things are within their grade.
func (s *Scene) vary() {
	r := phantom.NewSource(s.body)
	ratio := [][2]int64{{410, 455}, {495, 512}, {555, 588}, {635, 662}}[s.truth[heart].Grade]
	s.look = look{
		shiftX: pm(r.Span(-5, 5)), shiftY: pm(r.Span(-4, 4)), widen: one + pm(r.Span(-10, 10)),
		heart: pm(r.Span(ratio[0], ratio[1])), gain: one + pm(r.Span(-25, 25)),
		clock: r.Below(24 * 60 * 60), texture: r.Next(),
	}
	for side := range s.look.fluid {
		level := [][2]int64{{950, 950}, {833, 839}, {783, 797}, {720, 740}, {640, 660}}[s.truth[effusionRight+Site(side)].Grade]
		s.look.fluid[side] = pm(r.Span(level[0], level[1]))
	}
}

// Truth is what the scene holds. Every reading is sure.
func (s Scene) Truth() Findings { return s.truth }

// Seed is what New was given.
func (s Scene) Seed() uint64 { return s.seed }

// Index is the case's number, as New was given it.
func (s Scene) Index() int { return s.index }
