package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/harness/dataset/table"
)

// Splits are those of TAIX-VQA.
func Splits() []string { return []string{"train", "val", "test"} }

// taix reads TAIX-VQA: Parquet files data/{train,val,test}-*.parquet, one row per
// image and question. Of their columns UID, Question, Answer, Type and the image's
// bytes are read, and nothing else: who the patient is, and when, does not leave
// the file, but for a digest of the column that cluster: names. An item's ID is made from UID and question (taixItem), its picture is
// named after it; neither UID nor the picture's path is kept.
//
// Pictures are looked at one after another, never kept; Image.Load reads the one
// it needs from its file again.
func taix(s Source) (*Dataset, error) {
	s.Regions = cmp.Or(s.Regions, RegionNames()[0])
	more, err := s.extras()
	if err != nil {
		return nil, err
	}
	files, err := findShards(s.Path, s.Split)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: KindTAIX}
	t := &taixReader{d: d, more: more, files: files, cluster: s.column(), first: map[string]string{}}
	want := table.Columns{Texts: []string{"UID", "Question", "Answer", "Type"}, Images: []string{"Image.bytes"}}
	if t.cluster != "" {
		want.Any = []string{t.cluster}
	}
	for _, file := range files {
		missing, err := table.ParquetRows(file, want, func(r table.Row) { t.row(file, r) })
		if err != nil {
			return nil, err
		}
		for _, column := range missing {
			if column == t.cluster {
				leaves, err := table.ParquetLeaves(file)
				if err != nil {
					return nil, err
				}
				t.bad(Problem{File: file}, "", "the column "+column+" (cluster: "+column+")", table.JSONColumns(leaves, column))
				continue
			}
			t.bad(Problem{File: file}, column, "a column of text, or of an image's bytes", "none")
		}
	}
	t.items()
	d.Gaps = more.gaps
	return d, nil
}

// taixItem is the ID of the item about a question and image of TAIX-VQA. The
// image's UID goes into a hash: it belongs to a patient.
func taixItem(uid, question string) string {
	u, q := sha256.Sum256([]byte(uid)), sha256.Sum256([]byte(question))
	return hex.EncodeToString(u[:6]) + "-" + hex.EncodeToString(q[:4])
}

// taixReader gathers the rows of all files before it makes items of them: what a
// question offers may have to be told from the answers it got.
type taixReader struct {
	d       *Dataset
	more    *extras
	files   []string
	cluster string            // the column that is drawn together; "": none
	first   map[string]string // where an ID was seen
	rows    []taixRow
}

// taixRow is a row that can become an item.
type taixRow struct {
	at                         Problem // File and Row
	id, question, answer, kind string
	cluster                    string // what it has in that column
	image                      table.Image
}

func (t *taixReader) bad(at Problem, column, want, got string) {
	at.Column, at.Want, at.Got = column, want, got
	t.d.Problems = append(t.d.Problems, at)
}

// row checks what a row says by itself.
func (t *taixReader) row(file string, r table.Row) {
	at, before := Problem{File: file, Row: r.Number}, len(t.d.Problems)
	uid, question, answer, kind := r.Texts[0], r.Texts[1], r.Texts[2], r.Texts[3]
	if strings.TrimSpace(uid) == "" {
		t.bad(at, "UID", "the image's identifier", "none")
	}
	for _, c := range []struct{ name, text string }{{"Question", question}, {"Answer", answer}} {
		if strings.TrimSpace(c.text) == "" || !utf8.ValidString(c.text) {
			t.bad(at, c.name, "a text", table.Quote(c.text))
		}
	}
	typ := foldText(kind)
	if typ == "comparison" {
		typ = TypeComparative
	}
	if !slices.Contains(ClosedTypes(), typ) {
		t.bad(at, "Type", "binary, ordinal, comparison or spatial", table.Quote(kind))
	}
	cluster := ""
	if t.cluster != "" {
		if cluster = strings.TrimSpace(r.Texts[4]); cluster == "" {
			t.bad(at, t.cluster, table.Together(t.cluster), "none")
		}
	}
	if bad := r.Images[0].Bad; bad != "" {
		t.bad(at, "Image", "a readable PNG, JPEG, WebP, GIF, BMP or TIFF image", bad)
	}
	if len(t.d.Problems) > before {
		return
	}
	id := taixItem(uid, question)
	if where, twice := t.first[id]; twice {
		t.bad(at, "UID and Question", "each pair once", "the pair of "+where+" again")
		return
	}
	t.first[id] = fmt.Sprintf("%s:%d", at.File, at.Row)
	t.rows = append(t.rows, taixRow{at, id, question, answer, typ, cluster, r.Images[0].Image})
}

// items makes items of the rows that were gathered, and the digest.
func (t *taixReader) items() {
	type asked struct{ question, kind string }
	given := map[asked][]string{}
	for _, r := range t.rows {
		k := asked{r.question, r.kind}
		if !slices.Contains(given[k], foldText(r.answer)) {
			given[k] = append(given[k], foldText(r.answer))
		}
	}
	like := map[asked]Item{} // what all items of a question share
	for k, answers := range given {
		it := Item{Question: strings.TrimSpace(k.question), Type: k.kind, Modality: "X-ray"}
		for _, o := range t.offered(it, answers) {
			it.Options = append(it.Options, Option{Text: o})
		}
		describe(t.more.regions, &it)
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
			t.bad(r.at, "Answer", "one of the answers "+strings.Join(it.optionTexts(), ", ")+", or an alias of one", table.Quote(r.answer))
			continue
		}
		it.ID, it.Answer, it.cluster = r.id, answer, r.cluster
		it.Images = []Image{{Name: r.id + ".png", Load: r.image.Load}}
		t.more.complete(&it)
		digest.add(it, [][sha256.Size]byte{r.image.Sum()})
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
	digest.finish(t.d)
}

// offered are the answers of a question: those in its brackets, or those that its
// type has, or those it was given.
func (t *taixReader) offered(it Item, given []string) []string {
	if inside := bracketOptions(it.Question); inside != nil {
		return inside
	}
	switch it.Type {
	case TypeBinary:
		return []string{"yes", "no"}
	case TypeComparative:
		return []string{"right", "left", "same severity", "none"}
	case TypeOrdinal:
		for _, scale := range t.more.regions.Scales() {
			if !slices.ContainsFunc(given, func(a string) bool {
				return !slices.ContainsFunc(scale, func(g string) bool { return foldText(g) == a })
			}) {
				return scale
			}
		}
	}
	return slices.Sorted(slices.Values(given))
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
