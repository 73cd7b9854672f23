package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image/png"
	"math/rand/v2"

	"assay/backends/phantom/scene"
)

// Limits of Phantom.
const (
	maxPhantoms    = 1_000_000
	minPhantomSize = 256 // below, findings cannot be told apart
	maxPhantomSize = 4096
)

// Phantom generates items about chest phantoms: one scene and one question each,
// balanced over the question types and, within a type, over its tasks. Pictures
// are rendered when they are loaded, size x size pixels, 8-bit grey PNG.
//
// No picture is rendered for the Digest. It covers what determines their bytes:
// the generator's version, the seed, each scene's number and truth, and the
// size. Rendering is integer arithmetic, so no machine's maths enters; tests pin
// the bytes, and whatever changes them, a change of Go's PNG encoder included,
// has to raise scene.Version. The digest covers all texts as they are.
func Phantom(name string, seed uint64, items, size int) (*Dataset, error) {
	if items < 1 || items > maxPhantoms {
		return nil, fmt.Errorf("phantom data set %s: expected 1 to %d items, found %d", name, maxPhantoms, items)
	}
	if size < minPhantomSize || size > maxPhantomSize {
		return nil, fmt.Errorf("phantom data set %s: expected pictures of %d to %d pixels a side, found %d", name, minPhantomSize, maxPhantomSize, size)
	}
	d := &Dataset{Name: name, Kind: "phantom", Synthetic: true, Items: make([]Item, items)}
	digest := newDigester()
	choose := rand.New(rand.NewPCG(seed, 0x70686e746d))
	var types []string
	asked := map[string]int{} // questions so far by type and task
	for i := range d.Items {
		if len(types) == 0 {
			types = Types()
			choose.Shuffle(len(types), func(a, b int) { types[a], types[b] = types[b], types[a] })
		}
		s := scene.New(seed, i)
		q := rarest(scene.Questions(s), types[0], asked, choose)
		types = types[1:]
		asked[q.Query.Type+q.Task]++
		it := phantomItem(s, q, size)
		sum := sha256.Sum256(fmt.Appendf(nil, "phantom %d: seed %d case %d size %d truth %v", scene.Version, seed, i, size, s.Truth()))
		if err := digest.add(it, [][sha256.Size]byte{sum}); err != nil {
			return nil, fmt.Errorf("phantom data set %s: digest item %s: %w", name, it.ID, err)
		}
		d.Items[i] = it
	}
	d.Digest = "sha256:" + hex.EncodeToString(digest.h.Sum(nil))
	return d, nil
}

// rarest draws a question of a type whose task was asked least so far.
func rarest(all []scene.Question, typ string, asked map[string]int, r *rand.Rand) scene.Question {
	var least []scene.Question
	for _, q := range all {
		if q.Query.Type != typ {
			continue
		}
		n := 0
		if len(least) > 0 {
			n = asked[typ+q.Task] - asked[typ+least[0].Task]
		}
		if n < 0 {
			least = least[:0]
		}
		if n <= 0 {
			least = append(least, q)
		}
	}
	// A task with many questions is no more likely than one with few.
	var tasks []string
	byTask := map[string][]scene.Question{}
	for _, q := range least {
		if byTask[q.Task] == nil {
			tasks = append(tasks, q.Task)
		}
		byTask[q.Task] = append(byTask[q.Task], q)
	}
	some := byTask[tasks[r.IntN(len(tasks))]]
	return some[r.IntN(len(some))]
}

func phantomItem(s scene.Scene, q scene.Question, size int) Item {
	// Nothing of the truth may stand in a name: names reach prompts and logs.
	id := fmt.Sprintf("case-%05d", s.Index()+1)
	it := Item{
		ID: id, Question: q.Text, Type: q.Query.Type, Answer: q.Answer, Task: q.Task,
		Modality: "X-ray", Finding: q.Finding,
		Images: []Image{{Name: id + ".png", Load: func() ([]byte, error) {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, s.Render(size)); err != nil {
				return nil, fmt.Errorf("render %s: %w", id, err)
			}
			return b.Bytes(), nil
		}}},
	}
	for _, o := range q.Query.Options {
		it.Options = append(it.Options, Option(o))
	}
	for _, p := range q.Paths {
		steps := make([]Step, len(p))
		for i, st := range p {
			steps[i] = Step{Kind: StepKind(st.Kind), Text: st.Text}
		}
		it.GoldPaths = append(it.GoldPaths, steps)
	}
	return it
}
