package dataset_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/dataset/phantom"
	"assay/perturb"
)

func severalFilms(t testing.TB, seed uint64, cases, images int) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(dataset.Source{Kind: dataset.KindPhantom, Name: "cases", Seed: seed, Items: cases, Size: 256, Images: images})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Each image decides and each letter is right equally often; what gives the answer
// away stands behind AnswerLeaking alone, and says the truth.
func TestPhantomCases(t *testing.T) {
	const cases, images = 400, 4
	d := severalFilms(t, 7, cases, images)
	if len(d.Items) != cases || !d.Synthetic || d.Kind != dataset.KindPhantom {
		t.Fatalf("%d items", len(d.Items))
	}
	keys, golds := map[int]int{}, map[string]int{}
	chapters, together := map[string]int{}, map[[2]string]int{}
	for _, it := range d.Items {
		leak := it.AnswerLeaking()
		keys[leak.Key]++
		golds[it.Answer]++
		together[[2]string{string(rune('0' + leak.Key)), it.Answer}]++
		chapters[it.Case.Chapter]++
		if it.Type != dataset.TypeDiagnosis || len(it.Images) != images || len(it.Options) != 5 || len(leak.Captions) != images || len(leak.Discussion) != 5 {
			t.Fatalf("%s: %+v", it.ID, it)
		}
		i := slices.IndexFunc(it.Options, func(o dataset.Option) bool { return o.Label == it.Answer })
		if i < 0 || !strings.EqualFold(it.Options[i].Text, leak.Title) {
			t.Errorf("%s: the answer %s of %v is not %q", it.ID, it.Answer, it.Options, leak.Title)
		}
		prompt := it.Question + it.Case.History
		for k, c := range leak.Captions {
			if strings.Contains(prompt, strings.TrimSuffix(c, ".")) || !strings.Contains(leak.Findings, c) {
				t.Errorf("%s: caption %d: %q", it.ID, k+1, c)
			}
			// The caption of the image that decides says so, and no other's does.
			q := phantom.CaseIn("")
			_, told := q.Told(c, phantom.Findings{})
			if (len(told) == 1) != (k+1 == leak.Key) {
				t.Errorf("%s: caption %d, %q, tells %v; the key is %d", it.ID, k+1, c, told, leak.Key)
			}
		}
	}
	for k := 1; k <= images; k++ {
		if keys[k] != cases/images {
			t.Errorf("image %d decides %d cases", k, keys[k])
		}
	}
	for _, l := range []string{"A", "B", "C", "D", "E"} {
		if golds[l] != cases/5 {
			t.Errorf("%s is right %d times", l, golds[l])
		}
	}
	if len(together) != 20 || len(chapters) != 2 {
		t.Errorf("%d pairs of place and letter, chapters %v", len(together), chapters)
	}
	if again := severalFilms(t, 7, cases, images); again.Digest != d.Digest {
		t.Error("the same cases have two digests")
	}
	for name, other := range map[string]*dataset.Dataset{"seed": severalFilms(t, 8, cases, images), "images": severalFilms(t, 7, cases, 3)} {
		if other.Digest == d.Digest {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestPhantomCasesArePinned(t *testing.T) {
	d := severalFilms(t, 7, 3, 3)
	for at, want := range map[[2]int]string{{0, 0}: "82ab094b40b11b7b", {0, 2}: "a3beec3710e400cc", {2, 1}: "91fc10fc6e00ab4c"} {
		b, err := d.Items[at[0]].Images[at[1]].Load()
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("case %d, image %d: bytes are %s, pinned %s: raise scene.Version", at[0]+1, at[1]+1, got, want)
		}
		if _, w, h, err := perturb.Config(b); err != nil || w != 256 || h != 256 {
			t.Errorf("case %d, image %d: %dx%d, %v", at[0]+1, at[1]+1, w, h, err)
		}
	}
	if want := "sha256:95bb8cbf2bf1aee487c93c6e9a079ad04acdaee494178552c902897d61eca1d5"; d.Digest != want {
		t.Errorf("digest is %s, pinned %s: raise scene.Version", d.Digest, want)
	}
}

func BenchmarkPhantomCases(b *testing.B) {
	for b.Loop() {
		if d := severalFilms(b, 7, 400, 4); len(d.Items) != 400 {
			b.Fatal(len(d.Items))
		}
	}
}
