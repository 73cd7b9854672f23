package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"assay/perturb"
)

// Splits are those of TAIX-VQA.
func Splits() []string { return []string{"train", "val", "test"} }

// taix reads TAIX-VQA: Parquet files data/{train,val,test}-*.parquet, one row per
// image and question. Of their columns UID, Question, Answer, Type and the image's
// bytes are read, and nothing else: who the patient is, and when, does not leave
// the file. An item's ID is made from UID and question (TAIXItem), its picture is
// named after it; neither UID nor the picture's path is kept.
//
// Pictures are looked at one after another, never kept; Image.Load reads the one
// it needs from its file again.
func taix(s Source, more *extras) (*Dataset, error) {
	files, err := findShards(s.Path, s.Split)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: KindTAIX}
	t := &taixReader{d: d, more: more, files: files, words: map[string]string{}, first: map[string]string{}}
	for _, file := range files {
		if err := t.file(file); err != nil {
			return nil, err
		}
	}
	return d, t.items()
}

// TAIXItem is the ID of the item about a question and image of TAIX-VQA. The
// image's UID goes into a hash: it belongs to a patient.
func TAIXItem(uid, question string) string {
	u, q := sha256.Sum256([]byte(uid)), sha256.Sum256([]byte(question))
	return hex.EncodeToString(u[:6]) + "-" + hex.EncodeToString(q[:4])
}

// findShards finds the Parquet files of a split, all splits for "", in a folder
// or its subfolder data. A file is itself.
func findShards(path, split string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	splits := Splits()
	if split != "" {
		splits = []string{split}
	}
	var files []string
	for _, name := range splits {
		for _, dir := range []string{"data", ""} {
			found, err := filepath.Glob(filepath.Join(escapeGlob(path), dir, name+"-*.parquet"))
			if err != nil {
				return nil, err
			}
			slices.Sort(found)
			files = append(files, found...)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no Parquet file data/%s-*.parquet: expected a folder in TAIX-VQA's format", path, strings.Join(splits, "- or data/"))
	}
	return files, nil
}

// escapeGlob keeps a folder's own brackets and stars from being a pattern.
func escapeGlob(path string) string {
	if os.PathSeparator == '\\' {
		return path // no escapes there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// taixReader gathers the rows of all files before it makes items of them: what a
// question offers may have to be told from the answers it got.
type taixReader struct {
	d     *Dataset
	more  *extras
	files []string
	words map[string]string // every text once: questions repeat with each image
	first map[string]string // where an ID was seen
	rows  []taixRow
}

// taixRow is a row that can become an item.
type taixRow struct {
	at                         Problem // File and Row
	id, question, answer, kind string
	image                      shardImage
}

// shard is an open Parquet file.
type shard struct {
	path string
	file *parquet.File
}

// shardImage is a picture in a shard.
type shardImage struct {
	shard *shard
	leaf  int
	group int
	row   int64 // in the row group
	sum   [sha256.Size]byte
}

// columns are those that are read, by their place in the file.
type columns struct{ uid, question, answer, kind, image int }

// file reads the rows of one file. Damage that hides rows is an error.
func (t *taixReader) file(path string) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics on some damage
			err = fmt.Errorf("read %s: the file is damaged: %v", path, p)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// The file stays open for Image.Load; the runtime closes it when no item holds
	// on to it any more.
	pf, err := parquet.OpenFile(f, info.Size(), &parquet.FileConfig{SkipPageIndex: true, SkipBloomFilters: true, ReadBufferSize: 1 << 16})
	if err != nil {
		f.Close()
		return fmt.Errorf("read %s: not a Parquet file, or cut short: %w", path, err)
	}
	sh := &shard{path, pf}
	var c columns
	missing := false
	for _, want := range []struct {
		to   *int
		name string
	}{{&c.uid, "UID"}, {&c.question, "Question"}, {&c.answer, "Answer"}, {&c.kind, "Type"}, {&c.image, "Image.bytes"}} {
		leaf, ok := pf.Schema().Lookup(strings.Split(want.name, ".")...)
		if !ok || leaf.MaxRepetitionLevel > 0 || leaf.Node.Type().Kind() != parquet.ByteArray {
			t.bad(Problem{File: path}, want.name, "a column of "+map[bool]string{true: "bytes", false: "text"}[want.to == &c.image], "none")
			missing = true
		}
		*want.to = leaf.ColumnIndex
	}
	if missing {
		return nil
	}
	row := 0
	for g, group := range pf.RowGroups() {
		n := int(group.NumRows())
		var texts [4][]string
		for i, leaf := range []int{c.uid, c.question, c.answer, c.kind} {
			if texts[i], err = t.texts(group.ColumnChunks()[leaf], n); err != nil {
				return fmt.Errorf("read %s, rows %d to %d: %w", path, row+1, row+n, err)
			}
		}
		images, err := imageSums(group.ColumnChunks()[c.image], n)
		if err != nil {
			return fmt.Errorf("read the pictures of %s, rows %d to %d: %w", path, row+1, row+n, err)
		}
		for i := range n {
			row++
			t.row(Problem{File: path, Row: row}, texts[0][i], texts[1][i], texts[2][i], texts[3][i], images[i],
				shardImage{shard: sh, leaf: c.image, group: g, row: int64(i), sum: images[i].sum})
		}
	}
	return nil
}

func (t *taixReader) bad(at Problem, column, want, got string) {
	at.Column, at.Want, at.Got = column, want, got
	t.d.Problems = append(t.d.Problems, at)
}

// row checks what a row says by itself.
func (t *taixReader) row(at Problem, uid, question, answer, kind string, seen imageSeen, image shardImage) {
	before := len(t.d.Problems)
	if strings.TrimSpace(uid) == "" {
		t.bad(at, "UID", "the image's identifier", "none")
	}
	for _, c := range []struct{ name, text string }{{"Question", question}, {"Answer", answer}} {
		if strings.TrimSpace(c.text) == "" || !utf8.ValidString(c.text) {
			t.bad(at, c.name, "a text", quote(c.text))
		}
	}
	typ := fold(kind)
	if typ == "comparison" {
		typ = TypeComparative
	}
	if !slices.Contains(ClosedTypes(), typ) {
		t.bad(at, "Type", "binary, ordinal, comparison or spatial", quote(kind))
	}
	if seen.got != "" {
		t.bad(at, "Image", "a readable PNG, JPEG, WebP, GIF, BMP or TIFF image", seen.got)
	}
	if len(t.d.Problems) > before {
		return
	}
	id := TAIXItem(uid, question)
	if where, twice := t.first[id]; twice {
		t.bad(at, "UID and Question", "each pair once", "the pair of "+where+" again")
		return
	}
	t.first[id] = fmt.Sprintf("%s:%d", at.File, at.Row)
	t.rows = append(t.rows, taixRow{at, id, question, answer, typ, image})
}

// items makes items of the rows that were gathered, and the digest.
func (t *taixReader) items() error {
	type asked struct{ question, kind string }
	given := map[asked][]string{}
	for _, r := range t.rows {
		k := asked{r.question, r.kind}
		if !slices.Contains(given[k], fold(r.answer)) {
			given[k] = append(given[k], fold(r.answer))
		}
	}
	like := map[asked]Item{} // what all items of a question share
	for k, answers := range given {
		it := Item{Question: strings.TrimSpace(k.question), Type: k.kind, Modality: "X-ray"}
		for _, o := range t.offered(it, answers) {
			it.Options = append(it.Options, Option{Text: o})
		}
		t.more.regions.describe(&it)
		if it.Type == TypeOrdinal && it.Scale == nil {
			it.Scale = it.optionTexts() // in the order in which the question names them
		}
		like[k] = it
	}
	digest := newDigester()
	t.d.Items = make([]Item, 0, len(t.rows))
	for _, r := range t.rows {
		it := like[asked{r.question, r.kind}]
		answer, ok := it.resolve(r.answer)
		if !ok {
			t.bad(r.at, "Answer", "one of the answers "+strings.Join(it.optionTexts(), ", ")+", or an alias of one", quote(r.answer))
			continue
		}
		it.ID, it.Answer = r.id, answer
		it.Images = []Image{{Name: r.id + ".png", Load: r.image.load}}
		t.more.complete(&it)
		if err := digest.add(it, [][sha256.Size]byte{r.image.sum}); err != nil {
			return fmt.Errorf("digest item %s: %w", it.ID, err)
		}
		t.d.Items = append(t.d.Items, it)
	}
	order := map[string]int{} // of the files, as they were read
	for _, p := range t.d.Problems {
		if _, known := order[p.File]; !known {
			order[p.File] = slices.Index(t.files, p.File)
		}
	}
	slices.SortStableFunc(t.d.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), a.Row-b.Row)
	})
	t.d.Digest = digest.String()
	return nil
}

// offered are the answers of a question: those in its brackets, or those that its
// type has, or those it was given.
func (t *taixReader) offered(it Item, given []string) []string {
	if inside := BracketOptions(it.Question); inside != nil {
		return inside
	}
	switch it.Type {
	case TypeBinary:
		return []string{"yes", "no"}
	case TypeComparative:
		return []string{"right", "left", "same severity", "none"}
	case TypeOrdinal:
		for _, scale := range t.more.regions.scales {
			if !slices.ContainsFunc(given, func(a string) bool { return !slices.ContainsFunc(scale, func(g string) bool { return fold(g) == a }) }) {
				return scale
			}
		}
	}
	return slices.Sorted(slices.Values(given))
}

// texts reads a column of text. A missing value is "".
func (t *taixReader) texts(chunk parquet.ColumnChunk, n int) ([]string, error) {
	out := make([]string, 0, n)
	err := eachValue(chunk, func(v parquet.Value, _ bool) error {
		b := v.ByteArray()
		s, known := t.words[string(b)]
		if !known {
			s = string(b)
			if len(b) < 256 { // questions and answers; UIDs repeat as well
				t.words[s] = s
			}
		}
		out = append(out, s)
		return nil
	})
	if err == nil && len(out) != n {
		err = fmt.Errorf("expected %d values, found %d: the file is damaged", n, len(out))
	}
	return out, err
}

// imageSeen is what a look at a picture gave; got is "" when all is well.
type imageSeen struct {
	sum [sha256.Size]byte
	got string
}

func seeImage(b []byte) (s imageSeen) {
	if len(b) == 0 {
		return imageSeen{got: "none"}
	}
	if _, _, _, err := perturb.Config(b); err != nil {
		return imageSeen{got: err.Error()}
	}
	return imageSeen{sum: sha256.Sum256(b)}
}

// imageSums looks at the pictures of a row group. Rows about the same image
// follow each other, so each is hashed once: in a dictionary it is one value, else
// it equals the one before.
func imageSums(chunk parquet.ColumnChunk, n int) ([]imageSeen, error) {
	out := make([]imageSeen, 0, n)
	entries := map[*byte]imageSeen{} // of the dictionary
	var last []byte
	err := eachValue(chunk, func(v parquet.Value, indexed bool) error {
		b := v.ByteArray()
		switch {
		case len(b) == 0:
			out = append(out, seeImage(nil))
		case indexed:
			s, known := entries[&b[0]]
			if !known {
				s = seeImage(b)
				entries[&b[0]] = s
			}
			out = append(out, s)
		case len(out) > 0 && bytes.Equal(b, last):
			out = append(out, out[len(out)-1])
		default:
			last = append(last[:0], b...)
			out = append(out, seeImage(b))
		}
		return nil
	})
	if err == nil && len(out) != n {
		err = fmt.Errorf("expected %d values, found %d: the file is damaged", n, len(out))
	}
	return out, err
}

// eachValue calls f with every value of a column, page by page. The value is only
// good until f returns, but values of a dictionary (indexed) stay.
func eachValue(chunk parquet.ColumnChunk, f func(v parquet.Value, indexed bool) error) error {
	pages := chunk.Pages()
	defer pages.Close()
	var buf [64]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		indexed := page.Dictionary() != nil
		values := page.Values()
		for err == nil {
			var n int
			n, err = values.ReadValues(buf[:])
			for _, v := range buf[:n] {
				if err := f(v, indexed); err != nil {
					return err
				}
			}
		}
		parquet.Release(page)
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// load reads the picture again and refuses one that has changed since.
func (i shardImage) load() (b []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			b, err = nil, fmt.Errorf("read image: %s is damaged: %v", i.shard.path, p)
		}
	}()
	pages := i.shard.file.RowGroups()[i.group].ColumnChunks()[i.leaf].Pages()
	defer pages.Close()
	if err := pages.SeekToRow(i.row); err != nil {
		return nil, fmt.Errorf("read image from %s: %w", i.shard.path, err)
	}
	page, err := pages.ReadPage()
	if err != nil {
		return nil, fmt.Errorf("read image from %s: %w", i.shard.path, err)
	}
	defer parquet.Release(page)
	var v [1]parquet.Value
	if n, err := page.Values().ReadValues(v[:]); n == 0 {
		return nil, fmt.Errorf("read image from %s: %w", i.shard.path, err)
	}
	b = bytes.Clone(v[0].ByteArray())
	if sha256.Sum256(b) != i.sum {
		return nil, fmt.Errorf("read image: %s has changed since the data set was opened: start again", i.shard.path)
	}
	return b, nil
}
