package eye

import (
	"fmt"
	"image"
	"math/rand/v2"
)

// ChartTokens is how long an answer to the chart may be.
const ChartTokens = 4

// charted are the numbers of the chart's questions, which go test -run TestTheChart -search 160
// finds: the model is sure of them on every engine, and faults of pictures turn several.
func charted() []int {
	return []int{1, 3, 4, 10, 19, 22, 29, 51, 95, 106, 114, 2, 5, 6, 8, 9, 11, 12, 14, 16}
}

// Chart are the questions that a server is asked.
func Chart() []Ask {
	var out []Ask
	for _, n := range charted() {
		out = append(out, question(n))
	}
	return out
}

// question is one of any number of questions about one to three pictures.
func question(n int) Ask {
	r := rand.New(rand.NewPCG(97, uint64(n)))
	k := []int{1, 1, 1, 2, 3}[r.IntN(5)]
	task := Tasks()[r.IntN(4)]
	if k > 1 && task == Side {
		task = Colour
	}
	const side = 112 // small ones take a moment only
	var a Ask
	var shown []Shapes
	for range k {
		shown = append(shown, Draw(r, task, side, side))
		a.User = append(a.User, Part{Image: shown[len(shown)-1].Image})
	}
	ways := Questions(task)
	text := ways[r.IntN(len(ways))]
	if k > 1 {
		text = fmt.Sprintf("In image %d: ", 1+r.IntN(k)) + text
	}
	a.User = append(a.User, Part{Text: text + "\n\nGive the answer only: a few words, without any explanation."})
	return a
}

// Images are a request's pictures, in order.
func (a Ask) Images() (out []image.Image) {
	for _, p := range a.User {
		if p.Image != nil {
			out = append(out, p.Image)
		}
	}
	return out
}

// Text is what a request says beside its pictures.
func (a Ask) Text() (out string) {
	for _, p := range a.User {
		if p.Image == nil {
			out += p.Text
		}
	}
	return out
}
