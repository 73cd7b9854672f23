package curate

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/perturb"
)

// files are what Write wrote, as bench.yaml is told of it.
type files struct {
	Kind, Path string // of the kept set: kind: and path: of a data set
	Removed    string // the table of what was removed
}

// Write writes what is kept, with its pictures, into a folder that it makes: in
// MedThinkVQA's format where the set was read from that, else as JSON lines; and beside
// it removed.csv. A folder that has a data set already is left alone.
func (r *result) Write(dir, split string) (files, error) {
	f := files{Removed: filepath.Join(dir, "removed.csv")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("make the folder of the kept set: %w", err)
	}
	line, name := r.plain, "kept.jsonl"
	if f.Kind, f.Path = dataset.KindJSONL, filepath.Join(dir, name); r.Before.Kind == dataset.KindMedThinkVQA {
		if split == "" {
			split = dataset.CaseSplits()[1]
		}
		line, name = r.medThink, split+".jsonl"
		f.Kind, f.Path = dataset.KindMedThinkVQA, dir
	}
	out, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return f, fmt.Errorf("write the kept set: %w; give another --out, or remove what is there", err)
	}
	defer out.Close()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i, it := range r.Kept {
		folder := fmt.Sprintf("item%05d", i+1)
		if caseName.MatchString(it.ID) {
			folder = it.ID
		}
		images, err := pictures(dir, folder, it)
		if err == nil {
			err = enc.Encode(line(it, images))
		}
		if err != nil {
			return f, fmt.Errorf("write item %s: %w", it.ID, err)
		}
	}
	if err := out.Close(); err != nil {
		return f, fmt.Errorf("write the kept set: %w", err)
	}
	table, err := os.OpenFile(f.Removed, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}
	defer table.Close()
	if err := r.WriteRemoved(table); err != nil {
		return f, err
	}
	return f, table.Close()
}

var caseName = regexp.MustCompile(`^case[0-9]+$`)

// pictures writes an item's images and gives their paths from the data set's folder. The
// files are as they were, byte for byte.
func pictures(dir, folder string, it dataset.Item) ([]string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "images", folder), 0o700); err != nil {
		return nil, err
	}
	var out []string
	for n, im := range it.Images {
		b, err := im.Load()
		if err != nil {
			return nil, err
		}
		format, _, _, err := perturb.Config(b)
		if err != nil {
			return nil, err
		}
		path := fmt.Sprintf("images/%s/%02d.%s", folder, n+1, strings.Replace(format, "jpeg", "jpg", 1))
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(path)), b, 0o600); err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}

// plain is an item as a line of a JSONL data set.
func (r *result) plain(it dataset.Item, images []string) any {
	shown := "images"
	// Plain lines have the thirteen tasks; with others of its own a set is a table.
	if slices.ContainsFunc(r.Kept, func(it dataset.Item) bool { return it.Task != "" && !slices.Contains(dataset.Tasks(), it.Task) }) {
		shown = "image"
	}
	line := map[string]any{"id": it.ID, shown: images, "question": it.Question, "type": it.Type, "answer": it.Answer}
	put := func(key string, v any, given bool) {
		if given {
			line[key] = v
		}
	}
	put("answer_any", it.Also, it.Also != nil)
	put("options", it.Options, len(it.Options) > 0)
	put("task", it.Task, it.Task != "")
	put("modality", it.Modality, it.Modality != "")
	put("gold_path", it.GoldPaths, len(it.GoldPaths) > 0)
	put("finding", it.Finding, it.Finding != "")
	put("scale", it.Scale, len(it.Scale) > 0)
	put("aliases", it.Aliases, len(it.Aliases) > 0)
	boxes := map[string][][4]float64{} // in per cent: the parts that others are in need not divide 100
	for side, list := range it.Regions {
		for _, b := range list {
			part := func(n int) float64 { return 100 * float64(n) / float64(cmp.Or(b.Of, 100)) }
			boxes[side] = append(boxes[side], [4]float64{part(b.X0), part(b.Y0), part(b.X1), part(b.Y1)})
		}
	}
	if both, ok := boxes[""]; ok && len(boxes) == 1 {
		line["boxes"] = both
	} else {
		delete(boxes, "")
		put("boxes", boxes, len(boxes) > 0)
	}
	if it.Case != nil {
		told := it.AnswerLeaking()
		put("history", it.Case.History, it.Case.History != "")
		put("findings", told.Findings, told.Findings != "")
		var captions []*string
		for i := range told.Captions {
			captions = append(captions, &told.Captions[i])
			if told.Captions[i] == "" {
				captions[i] = nil
			}
		}
		put("captions", captions, len(captions) > 0)
	}
	return line
}

// medThink is a case as a line of MedThinkVQA.
func (r *result) medThink(it dataset.Item, images []string) any {
	told := it.AnswerLeaking()
	line := map[string]any{"title": told.Title, "CLINICAL_HISTORY": it.Case.History, "IMAGING_FINDINGS": told.Findings, "interval_text": told.Interval,
		"correct_answer": it.Answer, "ICD Chapter": it.Case.Chapter, "ICD Block": it.Case.Block, "ICD Category": it.Case.Category, "image_count": len(images)}
	options := map[string]string{}
	for _, o := range it.Options {
		options[o.Label] = o.Text
		if o.Label == it.Answer {
			line["correct_answer_text"] = o.Text
		}
	}
	line["options"] = options
	var discussion strings.Builder
	for _, s := range told.Discussion {
		if s.Name != "" {
			fmt.Fprintf(&discussion, "%s:\n", strings.ToUpper(s.Name[:1])+s.Name[1:])
		}
		fmt.Fprintf(&discussion, "%s\n", s.Text)
	}
	line["discussion"] = discussion.String()
	if it.Case.Longitudinal != nil {
		line["is_longitudinal"] = *it.Case.Longitudinal
	}
	if it.Case.Timepoints != nil {
		line["timepoint_count"] = *it.Case.Timepoints
	}
	if it.Case.Rare != nil {
		line["rare_disease"] = *it.Case.Rare
	}
	for n, path := range images {
		at := fmt.Sprintf("image_%02d_", n+1)
		line[at+"id"], line[at+"path"] = fmt.Sprintf("%02d", n+1), path
		line[at+"modality"], line[at+"sub_modality"] = it.Images[n].Modality, it.Images[n].Submodality
		if n < len(told.Captions) {
			line[at+"caption"] = told.Captions[n]
		}
	}
	return line
}

// WriteRemoved writes what was removed and why, and which options went, as CSV.
func (r *result) WriteRemoved(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"item", "filter", "level", "why", "twin", "spans_chars"}}
	for _, x := range r.Removed {
		var spans []string
		for _, s := range x.Spans {
			spans = append(spans, s.String())
		}
		rows = append(rows, []string{x.Item, x.Filter, x.Level, x.Why, x.Twin, strings.Join(spans, " | ")})
	}
	for _, p := range r.Pruned {
		rows = append(rows, []string{p.Item, "options (item kept)", "", "options that are gone: " + strings.Join(p.Gone, " | "), "", ""})
	}
	return out.WriteAll(rows)
}
