package eye

import (
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Model is the known model, and what it must answer.
type Model struct {
	words       *Vocabulary
	see, read   []block // layers that see, layers that read and write
	embed       matrix  // of tokens
	norm        []float64
	out         matrix
	patch       matrix // of 3 x 14 x 14 numbers
	pre, mm     []float64
	merge       matrix
	mm1, mm2    matrix
	rowEnd      []float64
	mean, sd    [3]float64
	epsilon     float64
	frequencies float64 // base of the angles of places
}

// block is one layer: attention, then a gated layer of two.
type block struct {
	n1, n2                       []float64
	q, k, v, o, gate, up, shrink matrix
	heads, kv                    int
}

// read reads a model and its projector from the bytes of two GGUF files.
func read(text, projector []byte) (*Model, error) {
	t, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	p, err := parse(projector)
	if err != nil {
		return nil, fmt.Errorf("projector: %w", err)
	}
	l := loader{t: t, p: p}
	m := &Model{
		embed: l.t.tensor(&l, "token_embd.weight"), norm: l.t.tensor(&l, "output_norm.weight").v, out: l.t.tensor(&l, "output.weight"),
		patch: l.p.tensor(&l, "v.patch_embd.weight"), pre: l.p.tensor(&l, "v.pre_ln.weight").v, mm: l.p.tensor(&l, "mm.input_norm.weight").v,
		merge: l.p.tensor(&l, "mm.patch_merger.weight"), mm1: l.p.tensor(&l, "mm.1.weight"), mm2: l.p.tensor(&l, "mm.2.weight"),
		rowEnd:  l.p.tensor(&l, "v.token_embd.img_break").v,
		epsilon: l.number(t, "llama.attention.layer_norm_rms_epsilon"), frequencies: l.number(t, "llama.rope.freq_base"),
	}
	for i, at := range []*[3]float64{&m.mean, &m.sd} {
		key := []string{"clip.vision.image_mean", "clip.vision.image_std"}[i]
		list, _ := p.values[key].([]any)
		for c := range at {
			if c >= len(list) {
				l.miss(key)
				break
			}
			v, _ := list[c].(float32)
			at[c] = float64(v)
		}
	}
	m.read = l.blocks(t, "blk.", "attn_norm", "attn_output", "ffn_norm", "llama.attention.head_count", "llama.attention.head_count_kv", "llama.block_count")
	m.see = l.blocks(p, "v.blk.", "ln1", "attn_out", "ln2", "clip.vision.attention.head_count", "clip.vision.attention.head_count", "clip.vision.block_count")
	m.words = &Vocabulary{}
	tokens, _ := t.values["tokenizer.ggml.tokens"].([]any)
	for _, v := range tokens {
		s, _ := v.(string)
		m.words.Texts = append(m.words.Texts, s)
	}
	if len(tokens) != m.embed.rows() {
		l.miss("tokenizer.ggml.tokens")
	}
	m.words.index()
	return m, errors.Join(l.missing...)
}

// loader notes what files lack.
type loader struct {
	t, p    *file
	missing []error
}

func (l *loader) miss(name string) {
	l.missing = append(l.missing, fmt.Errorf("expected %s in the model's files, found none that fits", name))
}

func (f *file) tensor(l *loader, name string) matrix {
	m, ok := f.tensors[name]
	if !ok {
		l.miss(name)
	}
	return m
}

func (l *loader) number(f *file, key string) float64 {
	switch v := f.values[key].(type) {
	case uint32:
		return float64(v)
	case float32:
		return float64(v)
	}
	l.miss(key)
	return 0
}

func (l *loader) blocks(f *file, prefix, n1, o, n2, heads, kv, count string) (out []block) {
	for i := range int(l.number(f, count)) {
		of := func(name string) matrix { return f.tensor(l, fmt.Sprintf("%s%d.%s.weight", prefix, i, name)) }
		out = append(out, block{of(n1).v, of(n2).v, of("attn_q"), of("attn_k"), of("attn_v"), of(o), of("ffn_gate"), of("ffn_up"), of("ffn_down"),
			int(l.number(f, heads)), int(l.number(f, kv))})
	}
	return out
}

// run is the layer. turn turns a head's numbers by their place; causal: no place looks ahead.
func (b block) run(x matrix, eps float64, causal bool, turn func(head []float64, at int)) matrix {
	y := x.normed(b.n1, eps)
	q, k, v := y.through(b.q), y.through(b.k), y.through(b.v)
	long := q.cols / b.heads
	for at := range x.rows() {
		for h := 0; h < q.cols; h += long {
			turn(q.row(at)[h:h+long], at)
		}
		for h := 0; h < k.cols; h += long {
			turn(k.row(at)[h:h+long], at)
		}
	}
	seen := newMatrix(x.rows(), q.cols)
	for h := range b.heads {
		of := h * b.kv / b.heads * long // its keys
		for at := range x.rows() {
			n := x.rows()
			if causal {
				n = at + 1
			}
			score := make([]float64, n)
			for i := range score {
				score[i] = floats.Dot(q.row(at)[h*long:(h+1)*long], k.row(i)[of:of+long]) / math.Sqrt(float64(long))
			}
			softmax(score)
			to := seen.row(at)[h*long : (h+1)*long]
			for i, w := range score {
				for d, x := range v.row(i)[of : of+long] {
					to[d] += w * x
				}
			}
		}
	}
	x = x.plus(seen.through(b.o))
	y = x.normed(b.n2, eps)
	gate, up := y.through(b.gate), y.through(b.up)
	return x.plus(gate.each(func(i int) float64 { return silu(gate.v[i]) * up.v[i] }).through(b.shrink))
}

// turnPairs turns neighbours by place, each pair slower than the one before.
func turnPairs(x []float64, at, base, scale float64) {
	for i := 0; i < len(x); i += 2 {
		sin, cos := math.Sincos(at * scale * math.Pow(base, -float64(i)/float64(len(x))))
		x[i], x[i+1] = x[i]*cos-x[i+1]*sin, x[i]*sin+x[i+1]*cos
	}
}

// tokens is what a prepared picture becomes: one row for each 28 x 28 pixels, and one
// at the end of each line of them but the last.
func (m *Model) tokens(p pixels) matrix {
	rows, cols := p.h/patch, p.w/patch
	x := newMatrix(rows*cols, m.patch.cols)
	for i := range x.rows() {
		to := x.row(i)
		for c := range 3 {
			for at := range patch * patch {
				px, py := i%cols*patch+at%patch, i/cols*patch+at/patch
				v := float64(float32(p.rgb[3*(py*p.w+px)+c]) / 255)
				to[c*patch*patch+at] = (v - m.mean[c]) / m.sd[c]
			}
		}
	}
	x = x.through(m.patch).normed(m.pre, m.epsilon)
	for _, b := range m.see {
		x = b.run(x, m.epsilon, false, func(head []float64, at int) {
			half := len(head) / 2
			turnPairs(head[:half], float64(at/cols), m.frequencies, 1)
			turnPairs(head[half:], float64(at%cols), m.frequencies, math.Pow(m.frequencies, -2/float64(len(head))))
		})
	}
	x = x.normed(m.mm, m.epsilon)
	rows2, cols2 := rows/2, cols/2
	merged := newMatrix(rows2*cols2, 4*x.cols)
	for i := range merged.rows() {
		for c := range x.cols {
			for k := range 4 {
				merged.row(i)[4*c+k] = x.row((i/cols2*2+k/2)*cols + i%cols2*2 + k%2)[c]
			}
		}
	}
	y := merged.through(m.merge).through(m.mm1)
	y = y.each(func(i int) float64 { return gelu(y.v[i]) }).through(m.mm2)
	out := matrix{cols: y.cols}
	for r := range rows2 {
		out.v = append(out.v, y.v[r*cols2*y.cols:(r+1)*cols2*y.cols]...)
		if r < rows2-1 {
			out.v = append(out.v, m.rowEnd...)
		}
	}
	return out
}

// Part is a piece of what a user sends: text or a picture.
type Part struct {
	Text  string
	Image image.Image // nil: text
}

// Ask is one turn of a conversation.
type Ask struct {
	System string // "": none
	User   []Part
}

// prompt is what the model gets: a row for each token and each piece of a picture.
func (m *Model) prompt(e Engine, a Ask) matrix {
	x := matrix{cols: m.embed.cols}
	say := func(ids ...int) {
		for _, id := range ids {
			x.v = append(x.v, m.embed.row(id)...)
		}
	}
	say(begin)
	if a.System != "" {
		say(system)
		say(m.words.Tokens(a.System)...)
		say(systemEnd)
	}
	say(inst)
	var text string // pieces of text beside each other are one
	for _, p := range a.User {
		if p.Image == nil {
			text += p.Text
			continue
		}
		say(m.words.Tokens(text)...)
		text = ""
		x.v = append(x.v, m.tokens(e.prepare(pixelsOf(p.Image))).v...)
		if e == LlamaServer {
			say(imageEnd)
		}
	}
	say(m.words.Tokens(text)...)
	say(instEnd)
	return x
}

// next are the log-probabilities of all tokens behind what was said.
func (m *Model) next(x matrix) []float64 {
	for _, b := range m.read {
		x = b.run(x, m.epsilon, true, func(head []float64, at int) { turnPairs(head, float64(at), m.frequencies, 1) })
	}
	last := matrix{x.cols, x.row(x.rows() - 1)}.normed(m.norm, m.epsilon).through(m.out).v
	top := slices.Max(last)
	sum := 0.0
	for _, v := range last {
		sum += math.Exp(v - top)
	}
	for i := range last {
		last[i] -= top + math.Log(sum)
	}
	return last
}

// Word is one token of an answer.
type Word struct {
	Text     string
	LogProbs map[string]float64 // of each token that has a text, by it; "": the end of the answer
	id       int
	end      bool
}

// Answer is what the model answers at temperature 0, at most so many tokens, and how likely
// each token was at each place.
func (m *Model) Answer(e Engine, a Ask, tokens int) (text string, words []Word) {
	return m.say(m.prompt(e, a), tokens)
}

// say goes on from what the model got.
func (m *Model) say(x matrix, tokens int) (text string, words []Word) {
	for range tokens {
		w := m.word(m.next(x))
		words = append(words, w)
		if w.end {
			break
		}
		text += w.Text
		x.v = append(x.v, m.embed.row(w.id)...)
	}
	return text, words
}

// word is the most likely token.
func (m *Model) word(p []float64) Word {
	w := Word{LogProbs: map[string]float64{"": p[stop]}}
	for id := controls; id < len(p); id++ {
		w.LogProbs[m.words.text(id)] = p[id]
	}
	for i := range p {
		if p[i] > p[w.id] {
			w.id = i
		}
	}
	if w.end = w.id < controls; !w.end {
		w.Text = m.words.text(w.id)
	}
	return w
}

// Likely are a word's most likely tokens, n at most, the most likely first.
func (w Word) Likely(n int) []string {
	all := slices.Collect(maps.Keys(w.LogProbs))
	slices.SortFunc(all, func(a, b string) int {
		switch d := w.LogProbs[b] - w.LogProbs[a]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	return all[:min(n, len(all))]
}
