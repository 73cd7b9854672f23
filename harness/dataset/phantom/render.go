package phantom

import "image"

// Grey levels of an adequate exposure; tone maps them for the others.
const (
	greyAir     = 0
	greyDarkest = 14 // of anything inside the body
	greyLung    = 54
	greyWall    = 118
	greyMiddle  = 172 // mediastinum
	greyHeart   = 150 // at its border; brighter inside
	greyFluid   = 179
	greyBelly   = 183
	greyText    = 255
)

// Mean extra grey over a site's zone by grade.
func opacityGrey(grade int) int64     { return [5]int64{0, 15, 30, 48, 73}[grade] }
func atelectasisGrey(grade int) int64 { return [5]int64{0, 13, 26, 41, 58}[grade] }
func congestionGrey(grade int) int64  { return [5]int64{0, 13, 27, 43, 61}[grade] }

// zone is a part of the picture in thousandths of its sides, x0 y0 x1 y1, on
// the right side of the body.
type zone [4]int64

// mirrored is the same on the left.
func (z zone) mirrored() zone { return zone{1000 - z[2], z[1], 1000 - z[0], z[3]} }

// Where opacities, collapsed lung and haze are drawn and looked for. The zones lie apart from each
// other, each inside its site's box.
var (
	opacityZone     = zone{130, 240, 250, 390}
	atelectasisZone = zone{100, 425, 200, 530}
	congestionZone  = zone{275, 285, 385, 400}
)

// Outlines of the right side in thousandths, by height; the left mirrors them. Those of the heart
// are half widths, in thousandths of its widest.
var (
	lungWall = curve{{80, 330}, {90, 285}, {105, 245}, {130, 205}, {180, 163}, {250, 130}, {350, 101}, {500, 79},
		{650, 68}, {800, 62}, {950, 60}}
	lungInner = curve{{80, 330}, {90, 360}, {105, 380}, {130, 398}, {180, 412}, {300, 424}, {450, 424},
		{600, 424}, {950, 424}}
	bodyWall = curve{{0, 385}, {20, 382}, {45, 360}, {65, 300}, {85, 205}, {110, 110}, {150, 40}, {200, 8}, {240, 0},
		{330, 4}, {500, 14}, {800, 10}, {1000, 6}}
	middleRight = curve{{0, 452}, {80, 444}, {200, 438}, {330, 430}, {400, 428}, {1000, 430}}
	middleLeft  = curve{{0, 548}, {80, 552}, {190, 560}, {225, 582}, {262, 596}, {300, 585}, {330, 580}, {365, 590},
		{400, 585}, {1000, 570}}
	domeRight = curve{{55, 915}, {80, 896}, {105, 866}, {150, 815}, {215, 770}, {280, 752}, {340, 757}, {400, 785},
		{450, 825}, {500, 868}}
	domeLeft = curve{{55, 915}, {80, 897}, {105, 869}, {150, 824}, {215, 787}, {280, 774}, {340, 780}, {400, 802},
		{450, 832}, {500, 868}}
	heartRight = curve{{330, 180}, {370, 300}, {420, 500}, {470, 740}, {520, 900}, {580, 995}, {640, 1000}, {700, 940},
		{760, 830}, {820, 690}, {870, 500}}
	heartLeft = curve{{330, 170}, {370, 260}, {420, 420}, {470, 600}, {520, 770}, {580, 905}, {640, 985}, {690, 1000},
		{740, 960}, {790, 850}, {830, 700}, {870, 500}}
	scapula = curve{{100, 20}, {130, 140}, {200, 172}, {300, 160}, {400, 112}, {500, -10}}

	// By distance from the wall.
	behind = curve{{0, 72}, {60, 48}, {150, 10}, {260, -14}, {360, -8}, {460, 12}, {500, 18}}
	before = curve{{0, -70}, {90, -45}, {200, 0}, {300, 45}, {400, 85}, {500, 110}}
	collar = curve{{0, 140}, {60, 124}, {140, 111}, {230, 113}, {320, 132}, {400, 158}, {470, 182}, {500, 186}}
)

// thorax is the inner width of the chest that the cardiothoracic ratio refers
// to, in thousandths.
const thorax = 876

// heartSides splits the heart's width about the midline: big hearts grow to both sides.
func (s Scene) heartSides() (right, left int64) {
	w := s.look.heart * thorax / 1000
	share := 320 + (s.look.heart-pm(430))*80/pm(230) // thousandths to the right
	right = w * share / 1000
	return right, w - right
}

// anatomy is one body on one film: all that does not depend on the row.
type anatomy struct {
	s      Scene
	n      int
	cols   []column
	rib    ribTable
	blobs  []blob // opacities, streaks and haze
	vessel []uint8
	gain   [2]int64 // grey of a vessel per weight, by side, 256 per level
	device []uint8  // lines, tubes and implants
	soft   edge
	blur   edge
	wide   edge
	fog    edge
	medial edge
	flank  edge
}

// column is what depends on the column alone.
type column struct {
	u     int64 // place in the body
	w     int64 // from the nearer wall to the midline: 0..one/2
	left  bool
	dome  int64 // top of the diaphragm
	rear  int64 // offset of the posterior ribs
	front int64 // of the anterior ribs
	clav  int64 // centre line of the clavicle

	// Weights 0..one of what fades sideways.
	collar, ribs, ribFronts     int64 // bones
	midway                      int64 // to the middle of the belly
	fluid                       int64 // beside the mediastinum
	vertebra, pedicle, windpipe int64

	belly int64 // grey, 256 per level
	bulge int64 // grey that lung has more in its middle
}

// toBodyX undoes the body's shift and width, so that curves are written once.
func (s Scene) toBodyX(u int64) int64 {
	return one/2 + (u-one/2-s.look.shiftX)*one/s.look.widen
}

func (s Scene) toFilm(p point) point {
	return point{one/2 + (p.x-one/2)*s.look.widen>>16 + s.look.shiftX, p.y + s.look.shiftY}
}

func mirror(x int64) int64 { return one - x }

// Render draws the scene in size x size pixels, 64 or more.
func (s Scene) Render(size int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, size, size))
	tone := s.tone()
	s.expose(size, func(y int, greys []int64) {
		pix := img.Pix[y*size:][:size]
		for x, grey := range greys {
			if grey != outside {
				pix[x] = tone[min(max(grey>>6, 0), 1023)]
			}
		}
	})
	s.encode(size, func(at int, levels int64) {
		if img.Pix[at] == greyAir {
			levels += codeGrey
		}
		img.Pix[at] = uint8(min(int64(img.Pix[at])+levels, 252))
	})
	s.print(size, func(at int) { img.Pix[at] = greyText })
	return img
}

// outside is no grey: there is no body.
const outside = -1 << 62

// expose gives the greys of every row, 256 per level, before the film's exposure.
func (s Scene) expose(size int, put func(y int, greys []int64)) {
	if size < 64 {
		panic("phantom: internal error: a radiograph needs 64 pixels a side")
	}
	a := s.anatomy(size)
	a.drawVessels()
	a.drawDevices()
	mottle := newMottle(s.look.texture, size)
	greys, cloud := make([]int64, size), make([]int64, size)
	for y := range size {
		mottle.row(y)
		r := a.row(y, mottle.fine, cloud)
		device := a.device[y*size:][:size]
		for x := range size {
			grey := r.grey(x)
			if grey == greyAir {
				greys[x] = outside
				continue
			}
			if d := int64(device[x]); d > 0 {
				grey += (250*256 - grey) * d / 330
			}
			greys[x] = grey + mottle.rough[x] + mottle.fine[x]
		}
		put(y, greys)
	}
}

func (s Scene) anatomy(size int) *anatomy {
	n := int64(size)
	a := &anatomy{
		s: s, n: size, cols: make([]column, size), rib: newRibTable(), blobs: s.clouds(),
		vessel: make([]uint8, size*size), device: make([]uint8, size*size),
		soft: softEdge(pm(7)), blur: softEdge(pm(15)), wide: softEdge(pm(110)), fog: softEdge(pm(9)), medial: softEdge(pm(62)), flank: softEdge(pm(26)),
	}
	for x := range a.cols {
		c := &a.cols[x]
		c.u = s.toBodyX((2*int64(x) + 1) * one / (2 * n))
		c.w = min(c.u, mirror(c.u))
		c.left = c.u > one/2
		c.dome = domeRight.eval(c.w)
		if c.left {
			c.dome = domeLeft.eval(c.w)
		}
		c.rear, c.front, c.clav = behind.eval(c.w), before.eval(c.w), collar.eval(c.w)
		c.collar = a.soft.at(pm(462)-c.w) * a.blur.at(c.w-pm(40)) >> 16
		c.ribs, c.ribFronts = a.blur.at(pm(458)-c.w), a.blur.at(pm(310)-c.w)
		c.midway, c.fluid = a.wide.at(c.w-pm(400)), a.medial.at(pm(428)-c.w)
		d := c.u - one/2
		c.vertebra, c.pedicle, c.windpipe = a.blur.at(pm(40)-abs(d)), bump(abs(d)-pm(36), pm(9)), a.fog.at(pm(17)-abs(d+pm(2)))
		c.belly = int64(greyBelly<<8) + bump(c.w-pm(500), pm(420))*9>>8
		c.bulge = bump(c.w-pm(350), pm(220)) * 14 >> 8
	}
	for i := range a.blobs {
		b := &a.blobs[i]
		for x := range a.cols {
			if w := bump(a.cols[x].u-b.x, b.rx); w > 0 {
				if b.across == nil {
					b.from = x
				}
				b.across = append(b.across, int32(w))
			}
		}
	}
	return a
}

// tone maps grey in quarters to the film, which has its own exposure.
func (s Scene) tone() *[1024]uint8 {
	var t [1024]uint8
	for i := range t {
		t[i] = uint8(min(max((s.toned(int64(i)*64)+128)>>8, greyDarkest), 252))
	}
	return &t
}

// toned is a grey as the exposure makes it, 256 per level.
func (s Scene) toned(v int64) int64 {
	v = v * s.look.gain >> 16
	switch s.truth[exposure].Grade {
	case tooDark:
		return v*60/100 + 2*256
	case tooPale:
		return 246*256 - (246*256-v)*60/100
	}
	return v
}

// stretch is one row of the body: everything that depends on height alone.
type stretch struct {
	a                *anatomy
	v                int64
	bodyR, bodyL     int64
	wall, inner      int64
	middleR, middleL int64
	middle, deep     int64 // grey of the mediastinum and of the deepest lung, 256 per level
	heartR, heartL   int64
	heartGrey        int64
	heart            bool
	spine, windpipe  int64
	base, under      int64   // how far down in the belly chest wall and heart already are, 0..one
	fade             int64   // of the ribs towards the belly
	scapula          int64   // inner border of the shoulder blade; 0: none on this row
	cloud            []int64 // grey of all blobs by column, 256 per level
	vessel           []uint8
}

// row takes the noise of the row, which roughens clouds, and memory for these.
func (a *anatomy) row(y int, fine, cloud []int64) *stretch {
	v := (2*int64(y)+1)*one/(2*int64(a.n)) - a.s.look.shiftY
	r := &stretch{a: a, v: v, vessel: a.vessel[y*a.n:][:a.n], cloud: cloud}
	r.bodyR = bodyWall.eval(v)
	r.bodyL = mirror(r.bodyR)
	r.wall, r.inner = lungWall.eval(v), lungInner.eval(v)
	r.middleR, r.middleL = middleRight.eval(v), middleLeft.eval(v)
	r.middle = blend(greyWall*256+1500, greyMiddle*256, softEdge(pm(130)).at(v-pm(110)))
	low := softEdge(pm(110)).at(v - pm(730)) // heart and fluid are hard to tell apart
	r.middle = blend(r.middle, (greyFluid+7)<<8, low)
	r.heartGrey = blend(greyHeart<<8, (greyHeart+14)<<8, low)
	r.deep = int64(greyLung<<8) + (v-pm(300))*30>>8
	if r.heart = v > pm(330) && v < pm(870); r.heart {
		right, left := a.s.heartSides()
		r.heartR = one/2 - right*heartRight.eval(v)>>16
		r.heartL = one/2 + left*heartLeft.eval(v)>>16
	}
	// A vertebra every 4.4 % of the height, discs between them.
	period := pm(44)
	r.spine = bump((v+20*period)%period-period/2, period*6/10)
	if v < pm(250) {
		r.windpipe = one - softEdge(pm(25)).at(v-pm(215))
	}
	r.base = softEdge(pm(95)).at(v - pm(835))
	r.under = softEdge(pm(75)).at(v - pm(850))
	r.fade = one - softEdge(pm(120)).at(v-pm(790))
	if v > pm(100) && v < pm(500) {
		r.scapula = scapula.eval(v)
	}
	clear(cloud)
	for i := range a.blobs {
		b := &a.blobs[i]
		grey := b.grey * bump(v-b.y, b.ry) >> 24
		if grey == 0 {
			continue
		}
		cloud, fine := cloud[b.from:][:len(b.across)], fine[b.from:][:len(b.across)]
		for x, w := range b.across {
			more := int64(w) * grey >> 16
			if b.rough {
				more += more * fine[x] >> 11
			}
			cloud[x] += more
		}
	}
	return r
}

// grey is the film's grey in a column of the row, 256 per level; 0 is air.
func (r *stretch) grey(x int) int64 {
	a, c := r.a, &r.a.cols[x]
	u, w := c.u, c.w
	e := min(u-r.bodyR, r.bodyL-u)
	if e <= 0 {
		return greyAir
	}
	deep := a.wide.at(e - pm(60)) // inside the body
	g := blend(40<<8, greyWall<<8, deep)
	if r.scapula > 0 {
		g += a.soft.at(r.scapula-w) * 1300 >> 16
	}

	// The chest wall turns into belly slowly, and so does what lies behind the
	// heart; the lung's floor is sharp.
	below := a.soft.at(r.v - c.dome)
	floor := blend(r.base, below, a.flank.at(w-r.wall+pm(4)))
	floor = blend(floor, r.under, c.midway)
	g = blend(g, c.belly, floor*deep>>16)
	side := 0
	if c.left {
		side = 1
	}
	if chest := a.soft.at(w - r.wall); chest > 0 {
		if lung := chest * a.soft.at(r.inner-w) >> 16 * (one - below) >> 16; lung > 0 {
			g = blend(g, r.lung(x, c, a.gain[side]), lung)
		}
	}
	if level := a.s.look.fluid[side]; level < pm(940) {
		t := one - min(max((w-r.wall)*one/pm(300), 0), one)
		surface := level + pm(88)*(one-t*t>>16)>>16 // climbs the wall
		if in := a.fog.at(r.v - surface); in > 0 {  // its sides are soft: the chest is round
			inside := a.flank.at(w-r.wall+pm(22)) * c.fluid >> 16
			g = blend(g, c.belly-(greyBelly-greyFluid)<<8, in*inside>>16)
		}
	}

	bone := r.bone(c)
	if d := min(u-r.middleR, r.middleL-u); d > -a.blur.half {
		g = max(g, blend(g, r.middle, a.blur.at(d)))
	}
	if r.heart {
		if d := min(u-r.heartR, r.heartL-u); d > -a.blur.half {
			core := r.heartGrey + a.wide.at(d-pm(75))*24>>8
			g = max(g, blend(g, core, a.blur.at(d)))
			bone -= bone * a.blur.at(d) >> 17
		}
	}
	if d := u - one/2; d > -pm(60) && d < pm(60) {
		g += c.vertebra * (500 + 2300*r.spine>>16) >> 16
		g += c.pedicle * (500 + 900*r.spine>>16) >> 16
		g -= c.windpipe * r.windpipe >> 16 * 8000 >> 16
	}
	if c.left && floor > 0 { // gas in the stomach
		dx, dy := (u-pm(690))*10/14, r.v-pm(862)
		if d2 := (dx*dx + dy*dy) >> 16; d2 < 200 {
			g -= smooth(one-d2*one/200) * 9000 >> 16 * below >> 16
		}
	}
	return max(g+bone, 1)
}

// lung is the grey of aerated lung with its vessels and clouds.
func (r *stretch) lung(x int, c *column, gain int64) int64 {
	g := r.deep + c.bulge + (one-r.a.wide.at(c.w-r.wall-pm(70)))*16>>8
	return min(g+int64(r.vessel[x])*gain+r.cloud[x], 205<<8)
}

// ribTable holds the profiles of ribs by height, so that no pixel divides.
type ribTable struct{ rear, front [ribSteps]int16 }

const (
	ribShift = 5
	ribSteps = 3 * one >> ribShift
)

func newRibTable() ribTable {
	var t ribTable
	rear, front := pm(76), pm(98)
	for i := range t.rear {
		v := int64(i) << ribShift
		d := v%rear - rear/2
		t.rear[i] = int16((bump(d, pm(20))*4700 + (bump(d-pm(14), pm(6))+bump(d+pm(14), pm(6)))*2600) >> 16)
		d = v%front - front/2
		t.front[i] = int16((bump(d, pm(24))*2700 + (bump(d-pm(17), pm(6))+bump(d+pm(17), pm(6)))*1300) >> 16)
	}
	return t
}

// bone is ribs and clavicles, 256 per level.
func (r *stretch) bone(c *column) int64 {
	a := r.a
	var g int64
	if r.v < pm(220) {
		d := r.v - c.clav
		if d > -pm(20) && d < pm(20) {
			g += c.collar * (bump(d, pm(18))*11000 + (bump(d-pm(11), pm(6))+bump(d+pm(11), pm(6)))*4600) >> 32
		}
	}
	inside := a.blur.at(c.w-r.wall+pm(18)) * c.ribs >> 16 * r.fade >> 16
	if inside == 0 || r.v < pm(70) {
		return g
	}
	g += int64(a.rib.rear[(r.v-c.rear+one)>>ribShift]) * inside >> 16
	if r.v > pm(150) && c.w < pm(330) {
		g += int64(a.rib.front[(r.v-c.front+one)>>ribShift]) * inside >> 16 * c.ribFronts >> 16
	}
	return g
}
