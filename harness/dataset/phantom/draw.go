package phantom

// All geometry is fixed point: one is the width of the picture and full weight.
// Integers round the same way on every processor; floating point with fused
// multiply-add does not.
const one = 1 << 16

// pm turns thousandths of the picture into fixed point.
func pm(thousandths int64) int64 { return thousandths * one / 1000 }

// smooth is 3t^2-2t^3 for t in 0..one.
func smooth(t int64) int64 {
	t = min(max(t, 0), one)
	return t * t >> 16 * (3*one - 2*t) >> 16
}

// edge is a soft step of a given half width.
type edge struct{ half, inv int64 }

func softEdge(half int64) edge { return edge{half, one * 256 / (2 * half)} }

// at is 0 well below zero, one well above.
func (e edge) at(x int64) int64 {
	if x <= -e.half {
		return 0
	}
	if x >= e.half {
		return one
	}
	return smooth((x + e.half) * e.inv >> 8)
}

// bump is (1-x^2/r^2)^2 inside r and 0 outside: a bell without an exponential.
func bump(x, r int64) int64 {
	if x <= -r || x >= r {
		return 0
	}
	t := x * one / r
	q := one - t*t>>16
	return q * q >> 16
}

// blend moves from a to b by weight w in 0..one.
func blend(a, b, w int64) int64 { return a + (b-a)*w>>16 }

// knot is one point of a curve, in thousandths of the picture.
type knot struct{ at, v int64 }

// curve is a smooth line through knots with rising at (cubic Hermite).
type curve []knot

// eval gives fixed point for t in fixed point; flat outside the knots.
func (c curve) eval(t int64) int64 {
	last := len(c) - 1
	if t <= pm(c[0].at) {
		return pm(c[0].v)
	}
	if t >= pm(c[last].at) {
		return pm(c[last].v)
	}
	i := 0
	for t >= pm(c[i+1].at) {
		i++
	}
	a, b := c[i], c[i+1]
	width := b.at - a.at
	s := (t - pm(a.at)) * 1000 / width // 0..one
	s2 := s * s >> 16
	s3 := s2 * s >> 16
	return ((2*s3-3*s2+one)*pm(a.v) + (3*s2-2*s3)*pm(b.v) +
		(s3-2*s2+s)*c.rise(i, width) + (s3-s2)*c.rise(i+1, width)) >> 16
}

// rise is what the tangent at knot i gains over a width in thousandths.
func (c curve) rise(i int, width int64) int64 {
	lo, hi := max(i-1, 0), min(i+1, len(c)-1)
	return (c[hi].v - c[lo].v) * width * one / (c[hi].at - c[lo].at) / 1000
}

// point is a place in fixed point.
type point struct{ x, y int64 }

// way turns pairs of thousandths into points.
func way(xy ...int64) []point {
	p := make([]point, len(xy)/2)
	for i := range p {
		p[i] = point{pm(xy[2*i]), pm(xy[2*i+1])}
	}
	return p
}

// along calls f at about every step of the smooth line through p (Catmull-Rom),
// with the share of the way done, 0..one.
func along(p []point, step int64, f func(at point, done int64)) {
	for i := 0; i+1 < len(p); i++ {
		p0, p1, p2, p3 := p[max(i-1, 0)], p[i], p[i+1], p[min(i+2, len(p)-1)]
		dx, dy := p2.x-p1.x, p2.y-p1.y
		n := max((abs(dx)+abs(dy))/step, 1)
		for k := range n {
			t := k * one / n
			t2 := t * t >> 16
			t3 := t2 * t >> 16
			h := func(a, b, c, d int64) int64 {
				return (2*b*one + (c-a)*t + (2*a-5*b+4*c-d)*t2 + (3*b-a-3*c+d)*t3) >> 17
			}
			f(point{h(p0.x, p1.x, p2.x, p3.x), h(p0.y, p1.y, p2.y, p3.y)}, (int64(i)*one+t)/int64(len(p)-1))
		}
	}
}

func abs(x int64) int64 { return max(x, -x) }
