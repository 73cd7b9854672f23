package phantom

import "assay/backends/phantom"

// blob is a bell in two directions; grey 65536 per level.
type blob struct {
	x, y, rx, ry, grey int64
	rough              bool

	// On a film: weights 0..one by column, from the first that it reaches on.
	from   int
	across []int32
}

// clouds are the bells of opacities, streaks of collapse and hilar haze, scaled
// so that their mean over the site's zone is exactly what the grade says.
func (s Scene) clouds() []blob {
	var out []blob
	for side := range 2 {
		add := func(part []blob, z zone, grey int64) {
			gain := grey * one * one / mean(part, z)
			for _, b := range part {
				b.grey = b.grey * gain >> 16
				if side == 1 {
					b.x = mirror(b.x)
				}
				out = append(out, b)
			}
		}
		r := func(what uint64) *phantom.Source {
			return phantom.NewSource(phantom.Mix(s.look.texture + 2*what + uint64(side)))
		}
		if g := opacityGrey(s.truth[opacityRight+Site(side)].Grade); g > 0 {
			add(patches(r(0), 12, opacityZone, pm(30), pm(62), 12), opacityZone, g)
		}
		if g := atelectasisGrey(s.truth[atelectasisRight+Site(side)].Grade); g > 0 {
			add(streaks(r(1), atelectasisZone), atelectasisZone, g)
		}
		if g := congestionGrey(s.truth[congestion].Grade); g > 0 {
			add(patches(r(2), 12, congestionZone, pm(50), pm(95), 0), congestionZone, g)
		}
	}
	return out
}

// mean is the mean weight of blobs over a zone in fixed point: 20 x 20 samples.
func mean(part []blob, z zone) int64 {
	var sum int64
	for i := range int64(20) {
		for k := range int64(20) {
			x := pm(z[0]) + (2*i+1)*pm(z[2]-z[0])/40
			y := pm(z[1]) + (2*k+1)*pm(z[3]-z[1])/40
			for _, b := range part {
				sum += b.grey * bump(x-b.x, b.rx) >> 16 * bump(y-b.y, b.ry) >> 16
			}
		}
	}
	return max(sum/400, 1)
}

// patches are irregular clouds whose centres lie in a zone.
func patches(r *phantom.Source, n int, z zone, small, large, inset int64) []blob {
	out := make([]blob, 0, n)
	for range n {
		rx := r.Span(small, large)
		out = append(out, blob{
			x: r.Span(pm(z[0]+inset), pm(z[2]-inset)), y: r.Span(pm(z[1]+inset), pm(z[3]-inset)),
			rx: rx, ry: rx * r.Span(70, 140) / 100, grey: r.Span(one/3, one), rough: true,
		})
	}
	return out
}

// streaks are three or four plates of collapsed lung: chains of flat bells.
func streaks(r *phantom.Source, z zone) []blob {
	n := 3 + int64(r.Below(2))
	out := []blob{{x: pm(z[0]+z[2]) / 2, y: pm(z[1]+z[3]) / 2, rx: pm(110), ry: pm(75), grey: one / 3, rough: true}}
	for i := range n {
		y := pm(z[1]+12) + (2*i+1)*pm(z[3]-z[1]-24)/(2*n) + r.Span(-pm(7), pm(7))
		tilt, sag := r.Span(-pm(26), pm(14)), r.Span(-pm(8), pm(8))
		from, to := pm(z[0]-25), pm(z[2]+r.Span(30, 110))
		thick, grey := r.Span(pm(12), pm(20)), r.Span(one*6/10, one)
		const links = 14
		for k := range int64(links) {
			t := k * one / (links - 1)
			out = append(out, blob{
				x: from + (to-from)*t>>16, y: y + tilt*t>>16 + sag*(4*t*(one-t)>>16)>>16,
				rx: (to - from) * 17 / 100, ry: thick * (one + one/4 - t/2) >> 16, grey: grey * (one + one/10 - t*8/10) >> 16 * min(k+2, 4) / 4,
			})
		}
	}
	return out
}

// stamp draws a round brush into a layer, keeping the stronger of old and new.
// p and radius are fixed point on the film; hollow leaves the middle weaker.
func (a *anatomy) stamp(layer []uint8, p point, radius, weight int64, hollow bool) {
	n := int64(a.n)
	r := max(radius*n, one*6/10) // in pixels, fixed point; never thinner than the grid
	if radius*n < r {
		weight = weight * max(radius*n, 1) / r
	}
	cx, cy := p.x*n-one/2, p.y*n-one/2
	r2 := r >> 8 * (r >> 8)
	inv := int64(one) << 24 / r2
	x0, x1 := max((cx-r)>>16, 0), min((cx+r)>>16+1, n-1)
	for y := max((cy-r)>>16, 0); y <= min((cy+r)>>16+1, n-1); y++ {
		dy := (y<<16 - cy) >> 8
		row := layer[y*n:][:n]
		for x := x0; x <= x1; x++ {
			dx := (x<<16 - cx) >> 8
			d2 := dx*dx + dy*dy
			if d2 >= r2 {
				continue
			}
			q := one - d2*inv>>24
			w := min(q*2, one) * weight >> 16
			if hollow {
				w = w * (one - bump(one-q, one/2)/3) >> 16
			}
			row[x] = max(row[x], uint8(w))
		}
	}
}

// stroke draws a tapering line through points of the body.
func (a *anatomy) stroke(layer []uint8, p []point, from, to, weight int64, hollow bool) {
	step := max(min(from, to)/2, one*3/int64(4*a.n))
	along(p, step, func(at point, done int64) {
		a.stamp(layer, a.s.toFilm(at), blend(from, to, done), weight, hollow)
	})
}

// drawVessels grows branching vessels from both hila.
func (a *anatomy) drawVessels() {
	for side := range 2 {
		r := phantom.NewSource(phantom.Mix(a.s.look.texture + 8 + uint64(side)))
		hilum := point{pm(408), pm(372)}
		if side == 1 {
			hilum = point{pm(410), pm(350)}
		}
		const trunks = 13
		for i := range int64(trunks) {
			// Directions fan from up-medial over lateral to down-medial.
			dx := -[trunks]int64{20, 70, 120, 170, 215, 245, 255, 255, 245, 215, 165, 110, 60}[i]
			dy := [trunks]int64{-235, -220, -190, -150, -100, -50, 5, 60, 130, 200, 270, 320, 350}[i]
			a.branch(r, side, hilum, pm(dx+r.Span(-15, 15)), pm(dy+r.Span(-15, 15)), pm(r.Span(52, 68))/10, 210, 3)
		}
		for range 5 { // the hilum itself
			p := point{hilum.x + r.Span(-pm(12), pm(10)), hilum.y + r.Span(-pm(30), pm(34))}
			a.stamp(a.vessel, a.s.toFilm(a.sided(side, p)), pm(r.Span(16, 26)), 170, false)
		}
		a.gain[side] = vesselGrey << 8 / max(a.vesselMean(side), 12)
	}
}

// vesselGrey is what vessels add to the zone of congestion: the same in every
// body, or a rich tree would look congested.
const vesselGrey = 4

// vesselMean is the mean weight of the vessels over the zone of congestion.
func (a *anatomy) vesselMean(side int) int64 {
	z := congestionZone
	p0, p1 := a.s.toFilm(a.sided(side, point{pm(z[0]), pm(z[1])})), a.s.toFilm(a.sided(side, point{pm(z[2]), pm(z[3])}))
	n := int64(a.n)
	x0, x1 := min(p0.x, p1.x)*n>>16, max(p0.x, p1.x)*n>>16
	var sum, seen int64
	for y := p0.y * n >> 16; y < p1.y*n>>16; y++ {
		for x := x0; x < x1; x++ {
			sum += int64(a.vessel[y*n+x])
			seen++
		}
	}
	return sum / max(seen, 1)
}

func (a *anatomy) sided(side int, p point) point {
	if side == 1 {
		p.x = mirror(p.x)
	}
	return p
}

// branch draws one vessel and lets smaller ones leave it.
func (a *anatomy) branch(r *phantom.Source, side int, from point, dx, dy, radius, weight int64, depth int) {
	bend := r.Span(-180, 180)
	mid := point{from.x + dx/2 + dy*bend/2000, from.y + dy/2 - dx*bend/2000}
	end := point{from.x + dx, from.y + dy}
	a.stroke(a.vessel, []point{a.sided(side, from), a.sided(side, mid), a.sided(side, end)}, radius, radius*4/10, weight, false)
	if depth == 0 {
		return
	}
	for _, turn := range [2]int64{1, -1} {
		p, share := mid, r.Span(45, 70)
		if turn < 0 {
			p = point{(mid.x + end.x) / 2, (mid.y + end.y) / 2}
		}
		t := turn * r.Span(35, 75)
		a.branch(r, side, p, (dx-dy*t/100)*share/130, (dy+dx*t/100)*share/130, radius*6/10, weight*7/10, depth-1)
	}
}

// drawDevices draws lines, tubes and the pacemaker.
func (a *anatomy) drawDevices() {
	t := a.s.truth
	switch t[venousCatheter].Grade {
	case placed: // ends in the great vein above the heart
		a.stroke(a.device, way(385, -10, 408, 40, 430, 100, 448, 170, 455, 240, 457, 300, 458, 345), pm(3), pm(3), 215, false)
	case misplaced: // crosses to the other side
		a.stroke(a.device, way(385, -10, 408, 40, 430, 100, 452, 145, 490, 168, 540, 160, 580, 135), pm(3), pm(3), 215, false)
	}
	switch t[gastricTube].Grade {
	case placed: // ends in the stomach
		a.stroke(a.device, way(508, -10, 512, 100, 520, 300, 524, 500, 527, 650, 536, 760, 556, 850, 590, 915, 640, 930), pm(4), pm(4), 200, true)
	case misplaced: // ends in the gullet
		a.stroke(a.device, way(508, -10, 512, 100, 520, 300, 524, 500, 527, 650, 530, 735), pm(4), pm(4), 200, true)
	}
	for side := range 2 {
		var p []point
		switch t[chestTubeRight+Site(side)].Grade {
		case placed: // ends deep in the chest
			p = way(-20, 640, 40, 618, 100, 603, 180, 592, 260, 560, 320, 500, 345, 440)
		case misplaced: // ends just inside the wall
			p = way(-20, 640, 40, 618, 100, 603, 160, 595, 205, 588)
		}
		for i := range p {
			p[i] = a.sided(side, p[i])
		}
		if p != nil {
			a.stroke(a.device, p, pm(6), pm(6), 190, true)
		}
	}
	if t[pacemaker].Grade == placed {
		a.stroke(a.device, way(800, 175, 770, 135, 700, 118, 620, 128, 550, 150, 505, 190, 492, 260, 490, 350, 505, 470, 550, 570, 602, 625), pm(3), pm(3), 205, false)
		a.can()
	}
}

// can draws the pacemaker's case below the left clavicle: a rounded square.
func (a *anatomy) can() {
	n := int64(a.n)
	c := a.s.toFilm(point{pm(832), pm(158)})
	half, corner := pm(38), pm(20)
	soft := softEdge(max(pm(2), one/n))
	for y := (c.y - half) * n >> 16; y <= (c.y+half)*n>>16; y++ {
		for x := (c.x - half) * n >> 16; x <= (c.x+half)*n>>16; x++ {
			dx, dy := max(abs((2*x+1)*one/(2*n)-c.x)-half+corner, 0), max(abs((2*y+1)*one/(2*n)-c.y)-half+corner, 0)
			d := max(dx, dy) + min(dx, dy)*2/5                                    // close to the length, without a root
			w := soft.at(corner-d) * (228 - soft.at(corner-pm(5)-d)*22>>16) >> 16 // the rim is thickest
			if c.y-y*one/n > half*6/10 {                                          // where the lead is plugged in
				w = w * 9 / 10
			}
			a.device[y*n+x] = max(a.device[y*n+x], uint8(w))
		}
	}
}

// mottle is smooth noise of two sizes and fine grain, 256 per level.
type mottle struct {
	seed   uint64
	n      int
	smooth [2]lattice
	// By column of the current row: broad unevenness with grain, and the finer
	// unevenness.
	rough, fine []int64
}

// lattice is smooth noise between random nodes.
type lattice struct {
	cells, amp int64
	row        []int64 // the nodes of the current row
	col        []node  // where each column falls
}

type node struct {
	k int32
	f int32 // 0..one-1 towards the next node
}

func newMottle(seed uint64, n int) *mottle {
	m := &mottle{seed: seed, n: n, rough: make([]int64, n), fine: make([]int64, n)}
	for i, l := range [2]lattice{{cells: 13, amp: 620}, {cells: 84, amp: 640}} {
		l.row, l.col = make([]int64, l.cells+2), make([]node, n)
		for x := range l.col {
			v := (2*int64(x) + 1) * l.cells * one / (2 * int64(n))
			l.col[x] = node{int32(v >> 16), int32(v & (one - 1))}
		}
		m.smooth[i] = l
	}
	return m
}

// row moves to a row.
func (m *mottle) row(y int) {
	for i := range m.smooth {
		l := &m.smooth[i]
		v := (2*int64(y) + 1) * l.cells * one / (2 * int64(m.n))
		j, f := uint64(v>>16), smooth(v&(one-1))
		for k := range l.row {
			at := m.seed ^ uint64(i+1)<<56 ^ uint64(k)<<28
			a, b := int64(phantom.Mix(at^j)>>47)-one, int64(phantom.Mix(at^(j+1))>>47)-one
			l.row[k] = blend(a, b, f) * l.amp >> 16
		}
		even := [2][]int64{m.rough, m.fine}[i]
		for x, c := range l.col {
			even[x] = blend(l.row[c.k], l.row[c.k+1], int64(c.f))
		}
	}
	for x := range m.rough {
		h := phantom.Mix(m.seed + uint64(y)<<32 + uint64(x))
		m.rough[x] += int64(h&0x2FF) + int64(h>>10&0x2FF) + int64(h>>20&0x2FF) - 950
	}
}

// print writes the side marker and the time of day onto the film. The time is
// drawn from the seed and says nothing of the case; it tells films apart.
func (s Scene) print(n int, put func(at int)) {
	text := clockText(s.look.clock)
	for i, c := range text {
		glyph(put, n, labelX+i*labelPitch, labelY, 1, digitRows(c))
	}
	glyph(put, n, markerX, markerY, 2, [7]uint8{0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001})
}

// Cells of the label, whose characters stand labelPitch cells apart, and of the marker.
const (
	labelX     = 10
	labelY     = 10
	labelPitch = 6
	markerX    = 14
	markerY    = 22
)

func clockText(seconds int) []int {
	h, m, s := seconds/3600, seconds/60%60, seconds%60
	return []int{h / 10, h % 10, colon, m / 10, m % 10, colon, s / 10, s % 10}
}

// colon is the character after the ten digits.
const colon = 10

// digitRows is a 5 x 7 digit or colon, one bit a cell, the highest bit leftmost.
func digitRows(c int) [7]uint8 {
	return [11][7]uint8{
		{0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110},
		{0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110},
		{0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111},
		{0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110},
		{0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010},
		{0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110},
		{0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110},
		{0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000},
		{0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110},
		{0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100},
		{0b00000, 0b00100, 0b00100, 0b00000, 0b00100, 0b00100, 0b00000},
	}[c]
}

// glyph fills the cells of a character; scale is in cells.
func glyph(put func(at int), n, cx, cy, scale int, rows [7]uint8) {
	for j, bits := range rows {
		for i := range 5 {
			if bits>>(4-i)&1 == 0 {
				continue
			}
			x0, x1 := cell(cx+i*scale, n), cell(cx+(i+1)*scale, n)
			y0, y1 := cell(cy+j*scale, n), cell(cy+(j+1)*scale, n)
			for y := y0; y < y1; y++ {
				for x := x0; x < x1; x++ {
					put(y*n + x)
				}
			}
		}
	}
}
