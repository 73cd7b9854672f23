package eye

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// matrix has rows of equal length, one behind the other.
type matrix struct {
	cols int
	v    []float64
}

func newMatrix(rows, cols int) matrix { return matrix{cols, make([]float64, rows*cols)} }
func (m matrix) rows() int            { return len(m.v) / max(m.cols, 1) }
func (m matrix) row(i int) []float64  { return m.v[i*m.cols : (i+1)*m.cols] }
func (m matrix) plus(o matrix) matrix { return m.each(func(i int) float64 { return m.v[i] + o.v[i] }) }

// each is a matrix of the same shape, by place.
func (m matrix) each(f func(i int) float64) matrix {
	out := newMatrix(m.rows(), m.cols)
	for i := range out.v {
		out.v[i] = f(i)
	}
	return out
}

// through multiplies each row by a layer's weights, whose rows are what comes out.
func (m matrix) through(w matrix) matrix {
	out := newMatrix(m.rows(), w.rows())
	for i := range m.rows() {
		x, to := m.row(i), out.row(i)
		for k := range to {
			to[k] = floats.Dot(x, w.row(k))
		}
	}
	return out
}

// normed divides each row by its root mean square, and multiplies it by gains.
func (m matrix) normed(gain []float64, eps float64) matrix {
	out := newMatrix(m.rows(), m.cols)
	for i := range m.rows() {
		x := m.row(i)
		by := 1 / math.Sqrt(floats.Dot(x, x)/float64(m.cols)+eps)
		for k := range x {
			out.row(i)[k] = x[k] * by * gain[k]
		}
	}
	return out
}

// softmax turns scores into shares, in place.
func softmax(x []float64) {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	sum := 0.0
	for i := range x {
		x[i] = math.Exp(x[i] - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// gelu is the one with tanh, as ggml's.
func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}
