package dataset

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"

	"assay/harness/dataset/phantom"
	"assay/perturb"
)

// Phantom generates items about chest phantoms: cases scenes, and for each one
// question of the cot study and one of the faithfulness study about the same
// picture; first the questions of the one, then those of the other. Both are
// balanced over their types and, within a type, over tasks or over answers.
// Pictures are rendered when they are loaded, size x size pixels, 8-bit grey PNG.
//
// No picture is rendered for the Digest. It covers what determines their bytes:
// the generator's version, the seed, each scene's number and truth, and the
// size. Rendering is integer arithmetic, so no machine's maths enters; tests pin
// the bytes, and whatever changes them, a change of perturb's PNG encoder
// included, has to raise phantom.Version. The digest covers all texts as they are.
func Phantom(name string, seed uint64, cases, size int) (*Dataset, error) {
	return Open(Source{Kind: KindPhantom, Name: name, Seed: seed, Items: cases, Size: size})
}

func phantoms(from Source) (*Dataset, error) {
	if c := from.column(); c != "" {
		return nil, fmt.Errorf("cluster: expected %s, because phantoms are made and have no columns, found %q; leave it out", byItem, c)
	}
	if from.Images > 0 {
		return severalFilms(from), nil
	}
	seed, cases, size := from.Seed, from.Items, from.Size
	d := &Dataset{Name: from.Name, Kind: KindPhantom, Synthetic: true, Items: make([]Item, 0, 2*cases)}
	choose := rand.New(rand.NewPCG(seed, 0x70686e746d))
	var types []string
	asked := map[string]int{} // questions so far by type and task
	for i, all := range phantom.EachDrafts(seed, cases) {
		types = phantom.NextType(types, Types(), choose)
		q := phantom.Rarest(all, types[0], asked, choose)
		asked[q.Query.Type+q.Task]++
		d.Items = append(d.Items, phantomItem(phantom.NewScene(seed, i), q.Question(), size))
	}
	if err := closedItems(d, from); err != nil {
		return nil, err
	}
	digest := newDigester()
	for n, it := range d.Items {
		i := n % cases
		sum := sha256.Sum256(fmt.Appendf(nil, "phantom %d: seed %d case %d size %d truth %v", phantom.Version, seed, i, size, phantom.NewScene(seed, i).Truth()))
		digest.add(it, [][sha256.Size]byte{sum})
	}
	d.Digest = digest.String()
	digest.sum(d)
	return d, nil
}

func phantomImage(name string, s phantom.Scene, size int) Image {
	return Image{Name: name, Modality: "X-ray", Load: func() ([]byte, error) {
		file, err := perturb.EncodePNG(s.Render(size))
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", name, err)
		}
		return file, nil
	}}
}

func phantomItem(s phantom.Scene, q phantom.Question, size int) Item {
	// Nothing of the truth may stand in a name: names reach prompts and logs.
	id := fmt.Sprintf("case-%05d", s.Index()+1)
	it := Item{
		ID: id, Question: q.Text, Type: q.Query.Type, Answer: q.Answer, Task: q.Task,
		Modality: "X-ray", Finding: q.Finding,
		Images: []Image{phantomImage(id+".png", s, size)},
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

// closedItems adds the questions of the faithfulness study, with what belongs to
// them: regions, order of grades, aliases, knowledge.
func closedItems(d *Dataset, from Source) error {
	choose := rand.New(rand.NewPCG(from.Seed, 0x6661697468))
	var questions []string
	var types []string
	asked := map[string]int{} // questions so far by type and answer, and by type and finding
	for i := range from.Items {
		types = phantom.NextType(types, ClosedTypes(), choose)
		s := phantom.NewScene(from.Seed, i)
		q := phantom.LeastGiven(phantom.Faithful(s), types[0], asked, choose)
		asked[q.Query.Type+"="+q.Answer]++
		asked[q.Query.Type+":"+q.Finding]++
		it := phantomItem(s, q, from.Size)
		it.ID += "-2" // the case's second question
		for _, c := range q.Query.Choices() {
			it.Options = append(it.Options, Option{Text: c})
		}
		it.Scale = q.Query.Scale()
		it.Regions = map[string][]perturb.Region{}
		for _, site := range q.Query.Sites() {
			_, side, _ := strings.Cut(strings.ToLower(site.String()), "_") // none: the site has no sides
			b := site.Box()
			it.Regions[side] = append(it.Regions[side], perturb.Region{X0: b[0], Y0: b[1], X1: b[2], Y1: b[3]})
		}
		it.Aliases = aliases(phantom.FaithfulAliases(), it.optionTexts())
		questions = append(questions, it.Question)
		d.Items = append(d.Items, it)
	}
	more := extras{kb: ownKnowledge(phantom.Knowledge(questions...))}
	for i := range from.Items {
		more.complete(&d.Items[from.Items+i])
	}
	return GapError(more.gaps)
}

// KeepDrawn keeps the pictures of a generated data set, each when it was first
// loaded, in a temporary file without a name, so that a run draws each once and
// not once a trial. Where there is no such file, or it is full, pictures are
// drawn anew. Data sets of files are left as they are.
func (d *Dataset) KeepDrawn() {
	if !d.Synthetic {
		return
	}
	var kept tempFile
	load := map[string]func() ([]byte, error){} // by name: questions about one case share its picture
	for i := range d.Items {
		for k := range d.Items[i].Images {
			img := &d.Items[i].Images[k]
			if load[img.Name] == nil {
				load[img.Name] = kept.Once(img.Load)
			}
			img.Load = load[img.Name]
		}
	}
}
