package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset/phantom"
)

// The kinds of data sets.
const (
	KindM3CoTBench  = "m3cotbench"
	KindTAIX        = "taix-vqa"
	KindJSONL       = "jsonl"
	KindPhantom     = "phantom"
	KindMedThinkVQA = "medthinkvqa"

	// Tables of questions that anybody made.
	KindCSV        = "csv"
	kindTSV        = "tsv"
	kindParquet    = "parquet"
	KindVLMEvalKit = "vlmevalkit"
)

// Kinds are what is read from files.
func Kinds() []string {
	return append([]string{KindM3CoTBench, KindTAIX, KindMedThinkVQA, KindJSONL}, TableKinds()...)
}

// TableKinds are those of tables of questions, beside JSON lines.
func TableKinds() []string { return []string{KindCSV, kindTSV, kindParquet, KindVLMEvalKit} }

// Source says what a data set is read from, and how its pictures are sent: what
// bench.yaml has under its name. Keys says which kinds have what, and its limits.
type Source struct {
	Name    string // in bench.yaml
	Kind    string // one of Kinds, or KindPhantom
	Path    string // of a file or folder
	Items   int    // cases that are made
	Size    int    // pixels per side of what is made
	Images  int    `json:",omitempty"` // of each case that is made; 0: one, with a question of each study about it
	MaxSide int    // pictures are scaled down to this longest side when they are sent; 0: sent as they are

	// Of cases of several images: more are left out, and all pictures of one are scaled
	// down together to so many pixels. 0: no limit.
	MaxImages int `json:",omitempty"`
	MaxPixels int `json:",omitempty"`

	Metadata bool // what picture files say beside their pixels (texts, EXIF) is sent; else it is taken out
	Outside  bool // pictures may lie outside of the data set's folder

	Columns Mapping `json:",omitempty"` // of a table of questions: what its columns hold; nil: that is guessed

	DICOM []string `json:",omitempty"` // the program that makes pictures of DICOM files, with placeIn and placeOut in its arguments

	Boxes     string `json:",omitempty"` // what the numbers of boxes are in, one of Units; "": they tell it
	BoxesForm string `json:",omitempty"` // what they are, one of Forms; "": they tell it

	Cluster string `json:",omitempty"` // the column of what is drawn together in intervals and tests, or byItem; "": images that items share

	Split     string // one of Splits or CaseSplits, or a table's own; "": all that are there
	Knowledge string // the file of a knowledge base; "": none
	SkipGaps  bool   // what it does not know is left unjudged, instead of stopping the plan
	Experts   string `json:",omitempty"` // the file of what experts said of steps; "": none
	Regions   string // one of RegionNames or a file; "": none, but of taix-vqa the built-in ones

	At      string            `json:"-"` // where it stands: "bench.yaml:8:3"
	Seed    uint64            `json:"-"` // of what is made
	Written map[string]string `json:"-"` // files and folders by key, as bench.yaml has them
}

// Key is what bench.yaml may say of a data set. One of the functions is set: it
// gives where a Source keeps the value.
type Key struct {
	Name   string
	Kinds  []string // that have it
	Needed bool
	// A word is one of Values; where there are none, any. A flag is that of two words which comes second, or
	// true where there are none.
	Values []string
	// Names may stand for a file.
	Names []string
	// Default is that of a word or a name; "": there is none.
	Default string
	// Least, Most and Usual are limits and default of a whole number.
	Least, Most, Usual int
	Folder             bool // a path is that of a folder, else of a file
	Either             bool // of either

	Whole func(*Source) *int
	Flag  func(*Source) *bool
	Word  func(*Source) *string
	Where func(*Source) *string
	Map   func(*Source) *Mapping
	List  func(*Source) *[]string
}

// byItem has every item be drawn by itself, also where items share images.
const byItem = "item"

// minPhantomSize is the least size of a phantom: below, findings cannot be told apart.
const minPhantomSize = 256

// Keys are what bench.yaml may say of data sets of a kind.
func Keys(kind string) []Key {
	return slices.DeleteFunc(keys(kind), func(k Key) bool { return !slices.Contains(k.Kinds, kind) })
}

func keys(kind string) []Key {
	made, besides := []string{KindPhantom}, []string{KindTAIX, KindJSONL}
	several := append([]string{KindMedThinkVQA, KindJSONL, KindPhantom}, TableKinds()...)
	path := func(s *Source) *string { return &s.Path }
	return []Key{
		{Name: "items", Kinds: made, Needed: true, Least: 1, Most: 1_000_000, Whole: func(s *Source) *int { return &s.Items }},
		{Name: "size", Kinds: made, Least: minPhantomSize, Most: 4096, Usual: 512, Whole: func(s *Source) *int { return &s.Size }},
		{Name: "images", Kinds: made, Least: 2, Most: phantom.MaxFilms, Whole: func(s *Source) *int { return &s.Images }},
		{Name: "path", Kinds: []string{KindM3CoTBench, KindTAIX, KindMedThinkVQA}, Needed: true, Folder: true, Where: path},
		{Name: "path", Kinds: append([]string{KindJSONL}, TableKinds()...), Needed: true, Either: kind == kindParquet, Where: path},
		{Name: "columns", Kinds: append([]string{KindJSONL}, TableKinds()...), Map: func(s *Source) *Mapping { return &s.Columns }},
		{Name: "cluster", Kinds: append(Kinds(), KindPhantom), Word: func(s *Source) *string { return &s.Cluster }},
		{Name: "split", Kinds: TableKinds(), Word: func(s *Source) *string { return &s.Split }},
		{Name: "dicom", Kinds: append([]string{KindJSONL}, TableKinds()...), List: func(s *Source) *[]string { return &s.DICOM }},
		{Name: "boxes", Kinds: append([]string{KindJSONL}, TableKinds()...), Values: units(), Word: func(s *Source) *string { return &s.Boxes }},
		{Name: "boxes_form", Kinds: append([]string{KindJSONL}, TableKinds()...), Values: forms(), Word: func(s *Source) *string { return &s.BoxesForm }},
		{Name: "max_side", Kinds: Kinds(), Least: 16, Most: 65536, Whole: func(s *Source) *int { return &s.MaxSide }},
		{Name: "max_images", Kinds: several, Least: 2, Most: 1000, Whole: func(s *Source) *int { return &s.MaxImages }},
		{Name: "max_pixels", Kinds: several, Least: 10_000, Most: 1_000_000_000, Whole: func(s *Source) *int { return &s.MaxPixels }},
		{Name: "metadata", Kinds: Kinds(), Values: []string{"strip", "keep"}, Flag: func(s *Source) *bool { return &s.Metadata }},
		{Name: "knowledge", Kinds: besides, Where: func(s *Source) *string { return &s.Knowledge }},
		{Name: "knowledge_gaps", Kinds: besides, Values: []string{"stop", "skip"}, Flag: func(s *Source) *bool { return &s.SkipGaps }},
		{Name: "regions", Kinds: []string{KindTAIX}, Names: RegionNames(), Default: RegionNames()[0], Where: func(s *Source) *string { return &s.Regions }},
		{Name: "regions", Kinds: []string{KindJSONL}, Names: RegionNames(), Where: func(s *Source) *string { return &s.Regions }},
		{Name: "allow_outside", Kinds: append([]string{KindM3CoTBench, KindMedThinkVQA, KindJSONL}, TableKinds()...), Flag: func(s *Source) *bool { return &s.Outside }},
		{Name: "split", Kinds: []string{KindMedThinkVQA}, Values: CaseSplits(), Default: "test", Word: func(s *Source) *string { return &s.Split }},
		{Name: "experts", Kinds: []string{KindMedThinkVQA}, Where: func(s *Source) *string { return &s.Experts }},
		{Name: "split", Kinds: []string{KindTAIX}, Values: Splits(), Default: "test", Word: func(s *Source) *string { return &s.Split }},
	}
}

// Has says whether data sets of the source's kind have a key.
func (s Source) Has(key string) bool {
	return slices.ContainsFunc(Keys(s.Kind), func(k Key) bool { return k.Name == key })
}

// Open reads a data set, or makes it. Rows that cannot be used are its Problems,
// what its knowledge base does not know its Gaps; the error is for what makes all
// of it unreadable. lib reads what takes a library; phantoms need none.
func Open(s Source) (*Dataset, error) {
	read, ok := map[string]func(Source) (*Dataset, error){
		KindM3CoTBench: m3cotbench, KindTAIX: taix, KindMedThinkVQA: medthinkvqa, KindJSONL: jsonl, KindPhantom: phantoms,
		KindCSV: own, kindTSV: own, kindParquet: own, KindVLMEvalKit: own,
	}[s.Kind]
	err := s.check()
	switch {
	case !ok:
		err = fmt.Errorf("kind %q is not read from files, expected one of %s", s.Kind, strings.Join(Kinds(), ", "))
	case err == nil:
		var d *Dataset
		if d, err = read(s); err == nil && s.Cluster != "" {
			d.gather(s)
		}
		if err == nil {
			d.fewer(s.MaxImages, s.Path)
			return d, nil
		}
	}
	return nil, fmt.Errorf("open data set %s: %w", s.Name, err)
}

// column is the one whose values are drawn together; "": none.
func (s Source) column() string {
	if s.Cluster == byItem {
		return ""
	}
	return s.Cluster
}

// gather puts items into the clusters that bench.yaml names. Of values, which may be
// patients' names, digests are kept.
func (d *Dataset) gather(s Source) {
	for i := range d.Items {
		it := &d.Items[i]
		if it.Picture = ""; s.Cluster != byItem {
			sum := sha256.Sum256([]byte(it.cluster))
			it.Picture = hex.EncodeToString(sum[:8])
		}
		it.cluster = ""
	}
}

// fewer leaves out the items of more than most images; 0: none.
func (d *Dataset) fewer(most int, path string) {
	if most == 0 {
		return
	}
	n, images := len(d.Items), 0
	d.Items = slices.DeleteFunc(d.Items, func(it Item) bool {
		images = max(images, len(it.Images))
		return len(it.Images) > most
	})
	if n -= len(d.Items); n > 0 {
		d.Problems = append(d.Problems, Problem{File: cmp.Or(path, d.Name), Want: fmt.Sprintf("at most %d images an item (max_images)", most), Got: fmt.Sprintf("%d items of up to %d, which are left out", n, images)})
	}
}

// check is the limits again, for sources that come from elsewhere than bench.yaml. What a
// kind does not have is refused: left out, it would seem to have been read.
func (s Source) check() error {
	for _, k := range Keys(s.Kind) {
		switch {
		case k.Whole != nil:
			if v := *k.Whole(&s); (v != 0 || k.Needed || k.Usual > 0) && (v < k.Least || v > k.Most) {
				return fmt.Errorf("%s: expected a whole number from %d to %d, found %d", k.Name, k.Least, k.Most, v)
			}
		case k.Word != nil:
			if v := *k.Word(&s); v != "" && k.Values != nil && !slices.Contains(k.Values, v) {
				return fmt.Errorf("%s: expected one of %s, found %q", k.Name, strings.Join(k.Values, ", "), v)
			}
		}
	}
	for _, k := range keys(s.Kind) {
		given := k.Word != nil && *k.Word(&s) != "" || k.Where != nil && *k.Where(&s) != "" || k.List != nil && len(*k.List(&s)) > 0 || k.Map != nil && len(*k.Map(&s)) > 0
		if given && !s.Has(k.Name) && !(k.Name == "split" && s.Kind == KindJSONL) { // a table in JSON lines may have splits
			return fmt.Errorf("%s: expected nothing, because data sets of kind %s have none, found it given; leave it out", k.Name, s.Kind)
		}
	}
	return nil
}
