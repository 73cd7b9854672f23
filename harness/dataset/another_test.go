package dataset

import (
	"fmt"
	"image"
	"testing"
)

// Another item has another picture and another gold answer, and is of the same type, size and
// number of images; the seed decides which.
func TestPair(t *testing.T) {
	set := func() *Dataset {
		d := &Dataset{}
		for i := range 60 {
			it := Item{ID: fmt.Sprint("i", i), Type: []string{"single", "short"}[i%2], Answer: []string{"A", "B", "C"}[i%3], Sums: []string{fmt.Sprint("p", i/4)}, Images: []Image{{Size: image.Pt(64, 64+i%5/4)}}}
			if it.Type == "single" {
				it.Options = []Option{{"A", "mass"}, {"B", "nodule"}, {"C", "none"}}
				if i%4 == 0 { // the same answers by other letters
					it.Options = []Option{{"A", "none"}, {"B", "mass"}, {"C", "nodule"}}
				}
			}
			d.Items = append(d.Items, it)
		}
		d.Items = append(d.Items, Item{ID: "alone", Type: "multiple", Answer: "A", Images: []Image{{}}}, Item{ID: "no image", Type: "short", Answer: "x"})
		return d
	}
	a, b := set(), set()
	Pair(a, 1)
	Pair(b, 2)
	differ := 0
	for i, it := range a.Items {
		if i >= 60 {
			if it.Another != nil {
				t.Errorf("%s has %s", it.ID, it.Another.ID)
			}
			continue
		}
		o := it.Another
		if o == nil {
			t.Fatalf("%s has none", it.ID)
		}
		if o.Type != it.Type || o.Images[0].Size != it.Images[0].Size || o.Sums[0] == it.Sums[0] || o.goldTexts()[0] == it.goldTexts()[0] {
			t.Errorf("%+v has %+v", it, *o)
		}
		if b.Items[i].Another.ID != o.ID {
			differ++
		}
	}
	if differ < 20 {
		t.Errorf("another seed gives %d of 60 another item", differ)
	}
}
