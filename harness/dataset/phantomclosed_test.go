package dataset

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/phantom"
	"assay/perturb"
)

func phantomCases(t *testing.T, seed uint64, cases, size int) (cot, closed []Item) {
	t.Helper()
	d, err := Phantom("chest", seed, cases, size)
	if err != nil {
		t.Fatal(err)
	}
	return d.Items[:cases], d.Items[cases:]
}

// The questions of the cot study are those that were there before the
// faithfulness study had its own.
func TestPhantomCotItemsAreAsBefore(t *testing.T) {
	cot, _ := phantomCases(t, 7, 48, 256)
	digest := newDigester()
	for i, it := range cot {
		sum := sha256.Sum256(fmt.Appendf(nil, "phantom %d: seed %d case %d size %d truth %v", phantom.Version, 7, i, 256, phantom.NewScene(7, i).Truth()))
		digest.add(it, [][sha256.Size]byte{sum})
	}
	if want := "sha256:b2cd693f06e474fa432c4d4d9e7e5c34746b9aefaccebd7d9bd0cc0e240ea39a"; digest.String() != want {
		t.Errorf("digest of the cot items is %s, was %s", digest, want)
	}
}

func TestPhantomClosedItems(t *testing.T) {
	for _, seed := range []uint64{0, 7, 1 << 60} {
		cot, closed := phantomCases(t, seed, 48, 256)
		types, answers, findings := map[string]int{}, map[string]int{}, map[string]bool{}
		ids := map[string]bool{}
		for i, it := range closed {
			types[it.Type]++
			answers[it.Type+" "+it.Answer]++
			findings[it.Finding] = true
			ids[it.ID] = true
			if it.ID != cot[i].ID+"-2" || it.Images[0].Name != cot[i].Images[0].Name {
				t.Errorf("%s shows %s beside %s", it.ID, it.Images[0].Name, cot[i].ID)
			}
			if got := bracketOptions(it.Question); !slices.EqualFunc(got, it.Options, func(a string, b Option) bool { return a == b.Text }) {
				t.Errorf("%s: %q offers %v", it.ID, it.Question, it.Options)
			}
			if a, ok := it.resolve(it.Answer); !ok || a != it.Answer {
				t.Errorf("%s: the answer %q is none of %v", it.ID, it.Answer, it.Options)
			}
			if (it.Scale != nil) != (it.Type == TypeOrdinal) || it.Knowledge == nil || len(it.Knowledge.MustAll) == 0 || len(it.Regions) == 0 {
				t.Errorf("%s: scale %v, knowledge %v, regions %v", it.ID, it.Scale, it.Knowledge, it.Regions)
			}
			if sides := len(it.Regions["right"]) > 0 && len(it.Regions["left"]) > 0; it.Type == TypeComparative && (!sides || it.Finding != strings.TrimSuffix(it.Finding, "_Right")) {
				t.Errorf("%s: compares %s in %v", it.ID, it.Finding, it.Regions)
			}
			if q, ok := phantom.Understand(it.Question); !ok || q.Answer(q.Solve(phantom.NewScene(seed, i).Truth())) != it.Answer {
				t.Errorf("%s: %q is not %q", it.ID, it.Question, it.Answer)
			}
			for alias, of := range it.Aliases {
				if got, ok := it.resolve(alias); !ok || got != of {
					t.Errorf("%s: %q stands for %q, %v", it.ID, alias, got, of)
				}
			}
		}
		for _, typ := range ClosedTypes() {
			if types[typ] != 12 {
				t.Errorf("seed %d: %d items are %s", seed, types[typ], typ)
			}
		}
		for _, a := range []string{"binary yes", "binary no", "comparative right", "comparative left", "comparative same severity", "comparative none",
			"ordinal none", "ordinal severe", "spatial in place", "spatial misplaced", "spatial not present"} {
			if answers[a] == 0 {
				t.Errorf("seed %d: nothing has the answer %s: %v", seed, a, answers)
			}
		}
		if len(ids) != 48 || len(findings) < 10 {
			t.Errorf("seed %d: %d ids, findings %v", seed, len(ids), findings)
		}
	}
}

// A finding that is covered cannot be seen, and nothing else is covered with it
// that matters more; an outline hides nothing, whoever looks.
func TestRegionsCoverTheFindings(t *testing.T) {
	_, closed := phantomCases(t, 7, 48, 256)
	hidden, changed, outlined := 0, 0, 0
	for _, it := range closed {
		b, err := it.Images[0].Load()
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		var all []perturb.Region
		for _, r := range it.Regions {
			all = append(all, r...)
		}
		q, _ := phantom.Understand(it.Question)
		look := func(op perturb.Op) phantom.Findings {
			var out image.Image
			if out, err = op.Apply(img, 1); err != nil {
				t.Fatal(err)
			}
			return phantom.Look(out, phantom.Scene.Render).Findings
		}
		f := look(perturb.Op{Name: "occlude", Regions: all})
		sites := q.Sites()
		if !slices.ContainsFunc(sites, func(s phantom.Site) bool { return f[s].Sure }) {
			hidden++
		} else {
			t.Logf("%s: %q is seen through its cover", it.ID, it.Question)
		}
		f = look(perturb.Op{Name: "box", Regions: all})
		outlined++
		if got := q.Answer(q.Solve(f)); got != it.Answer || slices.ContainsFunc(sites, func(s phantom.Site) bool { return !f[s].Sure }) {
			changed++
			t.Logf("%s: outlined, %q is %q, was %q", it.ID, it.Question, got, it.Answer)
		}
	}
	if hidden < 48 || changed > 2 {
		t.Errorf("of 48 findings %d are hidden by a cover, and %d of %d answers changed by an outline", hidden, changed, outlined)
	}
}
