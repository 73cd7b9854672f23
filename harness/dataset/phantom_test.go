package dataset_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/dataset/phantom"
	"assay/results/text"
)

func phantoms(t *testing.T, seed uint64, items, size int) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Phantom("chest", seed, items, size)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPhantomBytesArePinned(t *testing.T) {
	d := phantoms(t, 7, 48, 256)
	for i, want := range map[int][2]string{0: {"13c96cbb8055fd62", "470a49da651deeb9"}, 1: {"934fa6b2509794bb", "e4bcad9ebdb171ff"}, 47: {"65b00314d44b1e5a", "2b8a51d1471064ff"}} {
		for range 2 {
			b, err := d.Items[i].Images[0].Load()
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(b))
			if err != nil || img.Bounds().Dx() != 256 || img.Bounds().Dy() != 256 {
				t.Fatalf("item %d: decoded as %v: %v", i, img.Bounds(), err)
			}
			for k, what := range [][]byte{b, img.(*image.Gray).Pix} {
				sum := sha256.Sum256(what)
				if got := hex.EncodeToString(sum[:8]); got != want[k] {
					t.Errorf("item %d: %s are %s, pinned %s: raise scene.Version", i, []string{"bytes", "pixels"}[k], got, want[k])
				}
			}
		}
	}
	if want := "sha256:e1245ab8cf9c87c3ea2c80c00f7c4903417e613e51c2e65693c808d478b7a1c3"; d.Digest != want {
		t.Errorf("digest is %s, pinned %s: raise scene.Version", d.Digest, want)
	}
}

func TestPhantomDigestCoversSeedSizeAndItems(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		name        string
		seed        uint64
		items, size int
	}{{"as pinned", 7, 12, 256}, {"seed", 8, 12, 256}, {"items", 7, 13, 256}, {"size", 7, 12, 257}} {
		d := phantoms(t, c.seed, c.items, c.size)
		if other, ok := seen[d.Digest]; ok {
			t.Errorf("another %s has the digest of %s", c.name, other)
		}
		seen[d.Digest] = c.name
	}
	a, b := phantoms(t, 7, 12, 256), phantoms(t, 7, 12, 256)
	if a.Digest != b.Digest {
		t.Error("the same arguments give another digest")
	}
	for i := range a.Items {
		x, y := a.Items[i], b.Items[i]
		x.Images, y.Images = nil, nil
		if !reflect.DeepEqual(x, y) {
			t.Errorf("item %d differs between two calls:\n%+v\n%+v", i, x, y)
		}
	}
}

func TestPhantomItemsAreBalancedAndSound(t *testing.T) {
	for _, seed := range []uint64{0, 1, 7, 1 << 63} {
		d := phantoms(t, seed, 48, 256)
		types, tasks := map[string]int{}, map[string]int{}
		if len(d.Items) != 96 {
			t.Fatalf("seed %d: %d items", seed, len(d.Items))
		}
		for i, it := range d.Items[:48] {
			types[it.Type]++
			tasks[it.Task]++
			if got := text.QuestionType(it.Question); got != it.Type {
				t.Errorf("%s: %q is %s by its wording, %s by its label", it.ID, it.Question, got, it.Type)
			}
			options, err := dataset.ParseOptions(it.Question)
			if err != nil || !slices.Equal(options, it.Options) {
				t.Errorf("%s: options are %v, parsed %v, %v", it.ID, it.Options, options, err)
			}
			if !slices.Contains(dataset.Tasks(), it.Task) {
				t.Errorf("%s: unknown task %q", it.ID, it.Task)
			}
			if len(it.GoldPaths) == 0 || len(it.GoldPaths[0]) < 3 {
				t.Errorf("%s: gold paths are %v", it.ID, it.GoldPaths)
			}
			q, ok := phantom.Understand(it.Question)
			if want := q.Answer(q.Solve(phantom.NewScene(seed, i).Truth())); !ok || it.Answer != want {
				t.Errorf("%s: the answer is %q, the scene says %q", it.ID, it.Answer, want)
			}
		}
		for _, typ := range dataset.Types() {
			if types[typ] != 12 {
				t.Errorf("seed %d: %d items are %s", seed, types[typ], typ)
			}
		}
		if len(tasks) < 10 {
			t.Errorf("seed %d: only the tasks %v occur", seed, tasks)
		}
		if !d.Synthetic || d.Kind != "phantom" || d.Name != "chest" || len(d.Problems) > 0 {
			t.Errorf("seed %d: the set is %+v", seed, d)
		}
	}
}

// The file may say nothing that the pixels do not.
func TestPhantomFilesCarryNoText(t *testing.T) {
	d := phantoms(t, 7, 4, 256)
	for i, it := range d.Items {
		b, err := it.Images[0].Load()
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range []string{"tEXt", "iTXt", "zTXt", "eXIf", "tIME"} {
			if bytes.Contains(b, []byte(chunk)) {
				t.Errorf("%s: the PNG has a %s chunk", it.ID, chunk)
			}
		}
		for _, word := range []string{it.Answer, it.Finding} {
			if len(word) > 1 && strings.Contains(it.ID+it.Images[0].Name, word) {
				t.Errorf("item %d: its names %s, %s hold %q", i, it.ID, it.Images[0].Name, word)
			}
		}
	}
}

func TestPhantomLimits(t *testing.T) {
	for _, c := range []struct {
		items, size int
		want        string
	}{
		{0, 512, "items: expected a whole number from 1 to 1000000, found 0"}, {-1, 512, "items: expected"}, {1_000_001, 512, "items: expected"},
		{1, 255, "size: expected a whole number from 256 to 4096, found 255"}, {1, 0, "size: expected"}, {1, 4097, "size: expected"},
	} {
		if _, err := dataset.Phantom("chest", 1, c.items, c.size); err == nil || !strings.Contains(err.Error(), "chest: "+c.want) {
			t.Errorf("%d items of %d pixels: error %v, want %s", c.items, c.size, err, c.want)
		}
	}
}
