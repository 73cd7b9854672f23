package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/harness/dataset/table"
)

// shardName is how Hugging Face calls the files of a split.
var shardName = regexp.MustCompile(`^(.+?)-\d+-of-\d+.*\.parquet$`)

// parquet reads a Parquet file, or the files of a split in a folder.
func (r *questionReader) parquet() error {
	files, err := r.files()
	if err != nil {
		return err
	}
	names, err := table.ParquetColumns(files[0])
	if err != nil {
		return err
	}
	var images []string
	paths := map[string]string{} // of pictures, by the column of their bytes
	for _, n := range names {
		if column, ok := strings.CutSuffix(n, ".bytes"); ok {
			images = append(images, n)
			if slices.Contains(names, column+".path") {
				paths[n] = column + ".path"
			}
			r.columns = append(r.columns, column)
			continue
		}
		if column, ok := strings.CutSuffix(n, ".path"); !ok || !slices.Contains(names, column+".bytes") {
			r.columns = append(r.columns, n)
		}
	}
	for _, file := range files {
		err := table.ParquetCells(file, names, images, func(number int, cells []table.Cell) {
			x := questionRow{file: file, at: number, values: map[string]value{}}
			for i, c := range cells {
				name := names[i]
				switch {
				case slices.Contains(images, name):
					v := value{}
					for _, p := range c.Images {
						if p.Bad == table.None {
							continue
						}
						v.in = append(v.in, inside{load: p.Image.Load, sum: p.Image.Sum(), bad: p.Bad})
					}
					if at := slices.Index(names, paths[name]); len(v.in) == 0 && at >= 0 { // beside the file
						v.list = cells[at].Texts
					}
					x.values[strings.TrimSuffix(name, ".bytes")] = v
				case c.List:
					x.values[name] = value{list: c.Texts, text: strings.Join(c.Texts, ", ")}
				case len(c.Texts) > 0:
					x.values[name] = value{text: c.Texts[0]}
				}
			}
			r.rows = append(r.rows, x)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// files are those of the split.
func (r *questionReader) files() ([]string, error) {
	info, err := os.Stat(r.of.Path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{r.of.Path}, nil
	}
	by := map[string][]string{}
	var splits []string
	for _, dir := range []string{r.of.Path, filepath.Join(r.of.Path, "data")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || filepath.Ext(e.Name()) != ".parquet" {
				continue
			}
			split := strings.TrimSuffix(e.Name(), ".parquet")
			if m := shardName.FindStringSubmatch(e.Name()); m != nil {
				split = m[1]
			}
			if by[split] == nil {
				splits = append(splits, split)
			}
			by[split] = append(by[split], filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(splits)
	const usual = "test"
	split := r.of.Split
	switch {
	case len(splits) == 0:
		return nil, fmt.Errorf("%s: no Parquet file, there or in data/: expected data/SPLIT-00000-of-00001.parquet", r.of.Path)
	case split == "" && len(splits) == 1:
		split = splits[0]
	case split == "" && by[usual] != nil:
		split = usual
		r.guess("split: %s, of %s", split, strings.Join(splits, ", "))
	case split == "":
		return nil, fmt.Errorf("%s has the splits %s: say which is meant with split", r.of.Path, strings.Join(splits, ", "))
	case by[split] == nil:
		return nil, fmt.Errorf("%s has no split %s; it has %s", r.of.Path, split, strings.Join(splits, ", "))
	}
	return by[split], nil
}
