package curate

import (
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/image/draw"

	"assay/harness/dataset"
	"assay/perturb"
)

// DuplicateKinds are what near-duplicates share: their text, their images, or both. Data
// sets that ask the same of many images need both.
func DuplicateKinds() []string { return []string{twinsText, twinsImages, twinsBoth} }

const (
	twinsText   = "text"
	twinsImages = "images"
	twinsBoth   = "both"
)

// Near-duplicates share so much.
const (
	nearText   = 0.8 // of the runs of three words that either has (Jaccard)
	nearImages = 0.5 // of the images of the item that has fewer
	nearBits   = 8   // of 256 of an image's hash
)

// duplicates are items that are nearly the same as an earlier one, which stays.
func duplicates(items []dataset.Item, kind string) (gone []removed, problems []string) {
	var texts, images map[[2]int]float64
	if kind != twinsImages {
		texts = textTwins(items)
	}
	if kind != twinsText {
		images, problems = imageTwins(items)
	}
	near := texts
	switch kind {
	case twinsImages:
		near = images
	case twinsBoth:
		near = map[[2]int]float64{}
		for p, s := range texts {
			if _, ok := images[p]; ok {
				near[p] = s
			}
		}
	}
	pairs := make([][2]int, 0, len(near))
	for p := range near {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int {
		if a[1] != b[1] {
			return a[1] - b[1]
		}
		return a[0] - b[0]
	})
	away := map[int]bool{}
	for _, p := range pairs { // by the later one, so that what it is compared with is decided
		if away[p[0]] || away[p[1]] {
			continue
		}
		away[p[1]] = true
		var why []string
		if s, ok := texts[p]; ok {
			why = append(why, fmt.Sprintf("shares %.0f %% of its wording with %s", 100*s, items[p[0]].ID))
		}
		if s, ok := images[p]; ok {
			why = append(why, fmt.Sprintf("shares %.0f %% of the images of the one that has fewer with %s", 100*s, items[p[0]].ID))
		}
		gone = append(gone, removed{Item: items[p[1]].ID, Twin: items[p[0]].ID, Why: strings.Join(why, "; ")})
	}
	return gone, problems
}

// textTwins are pairs of items (earlier, later) with nearly the same text, and how alike
// they are.
func textTwins(items []dataset.Item) map[[2]int]float64 {
	out := map[[2]int]float64{}
	same := map[string][]int{} // items by text
	var order []string
	for i, it := range items {
		t := it.Question
		if it.Case != nil {
			t = it.Case.History
		}
		t = strings.Join(wordsOf(t), " ")
		if t == "" {
			continue
		}
		if same[t] == nil {
			order = append(order, t)
		}
		same[t] = append(same[t], i)
	}
	for _, list := range same {
		for k := range list {
			for _, j := range list[k+1:] {
				out[[2]int{list[k], j}] = 1
			}
		}
	}
	runs := make([]map[uint64]bool, len(order))
	has := map[uint64][]int{} // texts by run
	for a, t := range order {
		runs[a] = shingles(t)
		shared := map[int]int{}
		for r := range runs[a] {
			for _, b := range has[r] {
				shared[b]++
			}
		}
		for b, n := range shared {
			s := float64(n) / float64(len(runs[a])+len(runs[b])-n)
			if s < nearText {
				continue
			}
			for _, i := range same[order[a]] {
				for _, j := range same[order[b]] {
					out[[2]int{min(i, j), max(i, j)}] = s
				}
			}
		}
		for r := range runs[a] {
			has[r] = append(has[r], a)
		}
	}
	return out
}

func wordsOf(s string) []string {
	var out []string
	for _, t := range split(s) {
		out = append(out, t.word)
	}
	return out
}

// shingles are the runs of three words of a text, and of a shorter one the text.
func shingles(t string) map[uint64]bool {
	words := strings.Fields(t)
	out := map[uint64]bool{}
	for i := 0; i == 0 || i+3 <= len(words); i++ {
		out[hash(strings.Join(words[i:min(i+3, len(words))], " "))] = true
	}
	return out
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// imageHash is a picture's perceptual hash: of 16 x 16 places whether the picture is darker to
// their right, which scaling, encoding and brightness leave as it is.
type imageHash [4]uint64

func (p imageHash) distance(o imageHash) int {
	n := 0
	for i := range p {
		n += bits.OnesCount64(p[i] ^ o[i])
	}
	return n
}

// hashOf hashes a picture. Steps of less than two grey levels are noise, and none.
func hashOf(img image.Image) (p imageHash) {
	const side = 16
	small := image.NewGray(image.Rect(0, 0, side+1, side))
	coarse := averaged(img)
	draw.ApproxBiLinear.Scale(small, small.Bounds(), coarse, coarse.Bounds(), draw.Src, nil)
	for y := range side {
		for x := range side {
			if int(small.GrayAt(x, y).Y) > int(small.GrayAt(x+1, y).Y)+1 {
				p[y/4] |= 1 << (y%4*side + x)
			}
		}
	}
	return p
}

// averaged is a picture of less than twice the size that is hashed; a scaler would only
// sample it. Of large pictures some pixels of each place stand for all.
func averaged(img image.Image) *image.Gray {
	const cells, most = 34, 16
	b := img.Bounds()
	w, h := min(cells, b.Dx()), min(cells, b.Dy())
	stepX, stepY := max(1, b.Dx()/w/most), max(1, b.Dy()/h/most)
	out := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			sum, n := 0, 0
			for v := b.Min.Y + y*b.Dy()/h; v < b.Min.Y+(y+1)*b.Dy()/h; v += stepY {
				for u := b.Min.X + x*b.Dx()/w; u < b.Min.X+(x+1)*b.Dx()/w; u += stepX {
					sum += int(color.GrayModel.Convert(img.At(u, v)).(color.Gray).Y)
					n++
				}
			}
			out.SetGray(x, y, color.Gray{Y: uint8(sum / max(n, 1))})
		}
	}
	return out
}

// imageTwins are pairs of items with nearly the same images, and the share of those of
// the one with fewer. A picture is decoded once and not kept.
func imageTwins(items []dataset.Item) (map[[2]int]float64, []string) {
	type of struct {
		hash imageHash
		item int
		n    int // of the item's images
	}
	var all []of
	var problems []string
	for i, it := range items {
		for n, im := range it.Images {
			b, err := im.Load()
			var img image.Image
			if err == nil {
				img, err = perturb.Decode(b)
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s, image %d: %v", it.ID, n+1, err))
				continue
			}
			p := hashOf(img)
			if p == (imageHash{}) {
				continue // a flat picture is like any other
			}
			all = append(all, of{p, i, n})
		}
	}
	// Hashes that differ in 8 bits or fewer are the same in 8 of their 16 parts, or more.
	by := map[[2]uint64][]int{}
	twins := map[[2]int]map[int]bool{} // images of the earlier item, by pair
	back := map[[2]int]map[int]bool{}  // of the later one
	for k, a := range all {
		seen := map[int]bool{}
		for part := range uint64(16) {
			bits := a.hash[part/4] >> (part % 4 * 16) & 0xffff
			if bits == 0 {
				continue
			}
			key := [2]uint64{part, bits}
			for _, j := range by[key] {
				b := all[j]
				if seen[j] || b.item == a.item || a.hash.distance(b.hash) > nearBits {
					continue
				}
				seen[j] = true
				pair := [2]int{b.item, a.item}
				if twins[pair] == nil {
					twins[pair], back[pair] = map[int]bool{}, map[int]bool{}
				}
				twins[pair][b.n], back[pair][a.n] = true, true
			}
			by[key] = append(by[key], k)
		}
	}
	out := map[[2]int]float64{}
	for pair := range twins {
		n, shared := len(items[pair[0]].Images), len(twins[pair])
		if m := len(items[pair[1]].Images); m < n {
			n, shared = m, len(back[pair])
		}
		if s := float64(shared) / float64(n); s >= nearImages {
			out[pair] = s
		}
	}
	return out, problems
}
