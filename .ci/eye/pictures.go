// Draws what the model of harness/eye is trained and tried on, with questions in tokens:
//
//	go run .ci/eye/pictures.go OUT [share]
//
// share, 1 unless given, makes fewer. OUT gets vocabulary.json and, for each layout, the files
// NAME.pixels (bytes: picture, row, column, channel), NAME.facts and NAME.tokens (16-bit).
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/harness/dataset/phantom"
	"assay/harness/eye"
)

// layout is a set of pictures of one size, so many before each question.
type layout struct {
	Name   string `json:"name"`
	Side   int    `json:"side"`   // of a picture as the model gets it
	High   int    `json:"high"`   // its height
	Images int    `json:"images"` // before each question
	N      int    `json:"n"`      // pictures
	Each   int    `json:"each"`   // questions of each picture, or of each group of them
	Long   int    `json:"long"`   // tokens of a row
	film   bool
}

var layouts = []layout{
	{Name: "film-112", Side: 112, Images: 1, N: 14000, Each: 12, film: true},
	{Name: "film-140", Side: 140, Images: 1, N: 1500, Each: 10, film: true},
	{Name: "film-168", Side: 168, Images: 1, N: 1500, Each: 10, film: true},
	{Name: "film-224", Side: 224, Images: 1, N: 2500, Each: 12, film: true},
	{Name: "shape-112", Side: 112, Images: 1, N: 12000, Each: 6},
	{Name: "shape-84", Side: 84, Images: 1, N: 2000, Each: 6},
	{Name: "shape-168", Side: 168, High: 112, Images: 1, N: 1500, Each: 6},
	{Name: "shape-224", Side: 224, Images: 1, N: 1500, Each: 6},
	{Name: "shape-448", Side: 448, Images: 1, N: 250, Each: 6},
	{Name: "two", Side: 112, Images: 2, N: 6000, Each: 1},
	{Name: "three", Side: 84, Images: 3, N: 6000, Each: 1},
	{Name: "none", N: 6000, Each: 1},
}

// row is a conversation: [IMG] stands for each picture, the answer comes last.
type row struct {
	system, before, after string
	images                int
	answer                string
	json                  bool
	task                  string
	sight                 [3]int // pictures shown
}

func main() {
	out, share := os.Args[1], 1.0
	if len(os.Args) > 2 {
		share, _ = strconv.ParseFloat(os.Args[2], 64)
	}
	words := map[string]int{}
	type made struct {
		layout
		rows []row
	}
	var all []made
	for _, set := range []string{"train", "test"} {
		for i, l := range layouts {
			l.N = int(float64(l.N) * share)
			if set == "test" {
				l.N = min(max(l.N/20, 60), 500)
			}
			l.N = max(l.N/6*6, 6)
			if l.High == 0 {
				l.High = l.Side
			}
			l.Name = set + "-" + l.Name
			seed := uint64(1000*i + len(set)) // train 5, test 4
			all = append(all, made{l, draw(out, l, seed)})
			fmt.Println(l.Name, l.N)
		}
	}
	for _, m := range all {
		for _, r := range m.rows {
			for _, text := range []string{r.system, r.before, r.after, r.reply()} {
				for _, w := range eye.Split(text) {
					if len(w) > 1 {
						words[w]++
					}
				}
			}
		}
	}
	var kept []string
	for w := range words {
		kept = append(kept, w)
	}
	slices.Sort(kept)
	v := eye.NewVocabulary(kept)
	write(out, "vocabulary.json", v)
	tasks := []string{}
	var meta []layout
	for _, m := range all {
		m.Long = 0
		var rows [][]int
		for _, r := range m.rows {
			at := slices.Index(tasks, r.task)
			if at < 0 {
				at, tasks = len(tasks), append(tasks, r.task)
			}
			ids := []int{1}
			if r.system != "" {
				ids = slices.Concat(ids, []int{5}, v.Tokens(r.system), []int{6})
			}
			ids = append(append(ids, 3), v.Tokens(r.before)...)
			ids = append(ids, slices.Repeat([]int{10}, r.images)...)
			ids = append(append(ids, v.Tokens(r.after)...), 4)
			asked := len(ids)
			reply := v.Tokens(r.reply())
			word := v.Tokens(r.answer)
			first := 0
			if r.json {
				first = 4 // {" answer ": "
			}
			ids = append(append(ids, reply...), 2)
			// task, where the answer begins and ends, where its words do, the pictures
			rows = append(rows, append([]int{at, asked, len(ids), asked + first, asked + first + len(word), r.sight[0], r.sight[1], r.sight[2]}, ids...))
			m.Long = max(m.Long, len(ids))
		}
		b := make([]byte, 0, 2*len(rows)*(m.Long+8))
		for _, r := range rows {
			for len(r) < m.Long+8 {
				r = append(r, 11)
			}
			for _, t := range r {
				b = binary.LittleEndian.AppendUint16(b, uint16(t))
			}
		}
		must(os.WriteFile(filepath.Join(out, m.Name+".tokens"), b, 0o644))
		meta = append(meta, m.layout)
	}
	write(out, "layouts.json", map[string]any{"layouts": meta, "tasks": tasks})
}

func write(out, name string, v any) {
	b, err := json.MarshalIndent(v, "", " ")
	must(err)
	must(os.WriteFile(filepath.Join(out, name), b, 0o644))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// reply is what the model is to say.
func (r row) reply() string {
	if r.json {
		return `{"answer": "` + r.answer + `"}`
	}
	return r.answer
}

// draw writes a layout's pictures and facts, and words its questions.
func draw(out string, l layout, seed uint64) []row {
	rows := make([][]row, l.N)
	size := l.Side * l.High * 3
	pixels := make([]byte, l.N*size)
	facts := make([]int8, l.N*18)
	shapes := make([]eye.Shapes, l.N)
	var wg sync.WaitGroup
	for part := range 2 {
		wg.Go(func() {
			for i := part; i < l.N; i += 2 {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				f := facts[18*i : 18*i+18]
				for k := range f {
					f[k] = -1
				}
				if l.Images == 0 {
					rows[i] = blind(r)
					continue
				}
				w, h, engine := raw(r, l)
				var img image.Image
				if l.film {
					s := phantom.NewScene(1e6+seed, i)
					img = s.Render(w)
					for k, t := range s.Truth() {
						f[k] = int8(t.Grade)
					}
					rows[i] = film(r, s, i, l.Each)
				} else {
					shapes[i] = eye.Draw(r, eye.Tasks()[i%4], w, h)
					img = shapes[i].Image
					f[14] = int8(slices.Index(eye.Colours(), shapes[i].Colour))
					f[15] = int8(slices.Index(eye.Letters(), shapes[i].Letter))
					f[16] = int8(shapes[i].Count - 1)
					f[17] = int8(slices.Index([]string{"left", "right"}, shapes[i].Side))
					if l.Images == 1 {
						rows[i] = ofOne(r, shapes[i], i, l.Each)
					}
				}
				got, gw, gh := engine.Prepare(img)
				if gw != l.Side || gh != l.High {
					must(fmt.Errorf("%s: %d x %d became %d x %d", l.Name, w, h, gw, gh))
				}
				copy(pixels[i*size:], got)
			}
		})
	}
	wg.Wait()
	if l.Images > 1 {
		for i := range 2 * l.N {
			r := rand.New(rand.NewPCG(seed^0xface, uint64(i)))
			rows = append(rows, several(r, shapes, l.Images))
		}
	}
	if l.Images > 0 {
		must(os.WriteFile(filepath.Join(out, l.Name+".pixels"), pixels, 0o644))
		b := make([]byte, len(facts))
		for i, f := range facts {
			b[i] = byte(f)
		}
		must(os.WriteFile(filepath.Join(out, l.Name+".facts"), b, 0o644))
	}
	return slices.Concat(rows...)
}

// raw is a size that an engine brings to the layout's.
func raw(r *rand.Rand, l layout) (w, h int, e eye.Engine) {
	w, h = l.Side, l.High
	switch x := r.Float64(); {
	case x < 0.2:
		return w, h, eye.Ollama09
	case x < 0.5 && w == h && w > 84:
		w += r.IntN(26) - 13
		return w, w, eye.LlamaServer
	}
	return w, h, eye.LlamaServer
}

// worded wraps a question in one of the ways in which assay asks. kind is how the answer is
// to look.
func worded(r *rand.Rand, question, answer, kind, task string, images int) row {
	w := row{images: images, answer: answer, task: task}
	switch x := r.Float64(); {
	case x < 0.65:
		question += "\n\nGive the answer only: " + kind + ", without any explanation."
	case x < 0.8:
	default:
		w.json = true
		question += "\n\nReply with one JSON object: {\"answer\": \"...\"}"
	}
	if r.Float64() < 0.15 {
		var digits [24]byte
		for i := range digits {
			digits[i] = byte('0' + r.IntN(10))
		}
		w.system = string(digits[:]) + " (number of this request)"
	}
	w.after = question
	switch x := r.Float64(); {
	case x < 0.12:
		w.before, w.after = question+"\n", ""
	case x < 0.2:
		w.before = "Look at this.\n"
	}
	return w
}

const (
	letters = "the letter of the one option that is right"
	few     = "a few words"
	yesNo   = "yes or no"
	truth   = "True or False"
)

// film asks about a film.
func film(r *rand.Rand, s phantom.Scene, at, n int) (out []row) {
	by := map[string][]phantom.Question{}
	for _, q := range slices.Concat(phantom.Questions(s), phantom.Faithful(s)) {
		kind := int(q.Query.Kind)
		if !slices.Contains([]int{0, 1, 2, 5, 6, 8, 9, 13, 14}, kind) || q.Query.Type == "multiple" || kind == 8 && q.Query.Type != "spatial" {
			continue
		}
		task := map[int]string{0: "severity", 1: "severity", 2: "heart", 5: "side", 6: "presence", 8: "position", 9: "count", 13: "exposure", 14: "tube"}[kind]
		switch q.Query.Type {
		case "bool":
			task = "claim"
		case "binary":
			task = "presence"
		}
		by[task] = append(by[task], q)
	}
	often := []string{"severity", "severity", "severity", "side", "side", "side", "presence", "presence", "presence", "heart", "position", "count", "exposure", "tube", "claim"}
	for range n {
		task := often[r.IntN(len(often))]
		q := by[task][r.IntN(len(by[task]))]
		text, answer, kind := q.Text, q.Answer, few
		switch q.Query.Type {
		case "binary":
			kind = yesNo
		case "bool":
			kind = truth
		case "single":
			kind = letters
		case "ordinal", "comparative", "spatial":
			if r.IntN(2) == 0 {
				c := q.Query.Choices()
				text, kind = lettered(text, c), letters
				answer = string(rune('A' + slices.Index(c, answer)))
			}
		}
		task = "film " + task
		if kind == letters {
			task += ", letters"
		}
		w := worded(r, text, answer, kind, task, 1)
		w.sight[0] = at
		out = append(out, w)
	}
	return out
}

// about asks for a fact of shapes; in names the picture where there are several.
func about(r *rand.Rand, s eye.Shapes, task, in string, images int) row {
	ways := eye.Questions(task)
	question := ways[r.IntN(len(ways))]
	if in != "" {
		question = in + question
	}
	right, kind, label := answer(s, task), few, "shape "+task
	if images > 1 {
		label = "several " + task
	}
	list := choices(task)
	switch x := r.Float64(); {
	case x < 0.2:
		list = slices.Clone(list)
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		question, kind = lettered(question, list), letters
		right = string(rune('A' + slices.Index(list, right)))
		label += ", letters"
	case x < 0.35:
		claim := list[r.IntN(len(list))]
		if r.IntN(2) == 0 {
			claim = right
		}
		question = in + map[string]string{eye.Side: "Is the blob on the " + claim + "?", eye.Count: "Is the number of blobs " + claim + "?",
			eye.Letter: "Is the letter " + claim + "?", eye.Colour: "Is the colour " + claim + "?"}[task]
		kind, label = yesNo, label+", yes or no"
		right = map[bool]string{true: "yes", false: "no"}[claim == right]
	}
	return worded(r, question, right, kind, label, images)
}

func ofOne(r *rand.Rand, s eye.Shapes, at, n int) (out []row) {
	for i := range n {
		task := eye.Tasks()[at%4]
		if i > 1 || answer(s, task) == "" {
			task = eye.Tasks()[r.IntN(4)]
			for answer(s, task) == "" {
				task = eye.Tasks()[r.IntN(4)]
			}
		}
		w := about(r, s, task, "", 1)
		w.sight[0] = at
		out = append(out, w)
	}
	return out
}

// several asks about one of some pictures, or which of them it is.
func several(r *rand.Rand, shapes []eye.Shapes, k int) []row {
	var w row
	var at [3]int
	for i := range k {
		at[i] = r.IntN(len(shapes))
	}
	which := r.IntN(k)
	s := shapes[at[which]]
	tasks := []string{eye.Colour, eye.Colour, eye.Letter, eye.Count}
	task := tasks[r.IntN(len(tasks))]
	for answer(s, task) == "" {
		task = tasks[r.IntN(len(tasks))]
	}
	if task == eye.Colour && r.IntN(3) == 0 {
		for i := range k {
			for i != which && shapes[at[i]].Colour == s.Colour {
				at[i] = r.IntN(len(shapes))
			}
		}
		w = worded(r, "Which image shows a "+s.Colour+" shape? Answer with its number.", strconv.Itoa(which+1), few, "several which", k)
	} else {
		w = about(r, s, task, fmt.Sprintf("In image %d: ", which+1), k)
	}
	w.sight = at
	return []row{w}
}

// blind asks without a picture.
func blind(r *rand.Rand) []row {
	var w row
	if r.IntN(2) == 0 {
		w = film(r, phantom.NewScene(r.Uint64()>>1, 0), 0, 1)[0]
	} else {
		s := eye.Draw(r, eye.Tasks()[r.IntN(4)], 28, 28)
		w = ofOne(r, s, r.IntN(4), 1)[0]
	}
	w.images, w.answer, w.task = 0, "none", "no image"
	w.after, w.before = strings.TrimSpace(w.before+w.after), ""
	return []row{w}
}

// answer is what is right, "" where a picture shows nothing of a task.
func answer(s eye.Shapes, task string) string {
	switch task {
	case eye.Side:
		return s.Side
	case eye.Count:
		if s.Count > 0 {
			return strconv.Itoa(s.Count)
		}
		return ""
	case eye.Letter:
		return s.Letter
	}
	return s.Colour
}

// choices are all answers to a task.
func choices(task string) []string {
	switch task {
	case eye.Side:
		return []string{"left", "right"}
	case eye.Count:
		return []string{"1", "2", "3", "4"}
	case eye.Letter:
		return eye.Letters()
	}
	return eye.Colours()
}

// lettered adds choices to a question, as the study of questions lists options.
func lettered(question string, choices []string) string {
	for i, c := range choices {
		question += "\n" + string(rune('A'+i)) + ". " + c
	}
	return question
}
