package datasettest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// WriteTAIX writes a folder in TAIX-VQA's format: 32 questions about each of so
// many images of side x side pixels, in data/SPLIT-0000K-of-00002.parquet.
func WriteTAIX(dir, split string, images, side int) error {
	rows, err := TAIXRows(images, side)
	if err != nil {
		return fmt.Errorf("write a synthetic TAIX-VQA folder: %w", err)
	}
	half := images / 2 * 32
	for k, part := range [][]TAIXRow{rows[:half], rows[half:]} {
		if err := WriteParquet(filepath.Join(dir, "data", fmt.Sprintf("%s-%05d-of-00002.parquet", split, k)), part); err != nil {
			return err
		}
	}
	return nil
}

// WriteParquet writes rows as the data set's own files are: all columns nullable,
// dictionaries, row groups of a hundred rows, Snappy, pages of version 1.
func WriteParquet(path string, rows []TAIXRow) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write a synthetic Parquet file: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a synthetic Parquet file: %w", err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[TAIXRow](f, parquet.MaxRowsPerRowGroup(100), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1))
	if _, err := w.Write(rows); err != nil {
		return fmt.Errorf("write a synthetic Parquet file: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write a synthetic Parquet file: %w", err)
	}
	return f.Close()
}

// WriteTable writes rows of any struct as a Parquet file.
func WriteTable[T any](path string, rows []T) error {
	if err := parquet.WriteFile(path, rows); err != nil {
		return fmt.Errorf("write a synthetic Parquet file: %w", err)
	}
	return nil
}

// WriteMedThinkParquet writes SPLIT.parquet with embedded images and as many image
// columns as the largest case needs. asText writes the options as JSON in a text.
func WriteMedThinkParquet(dir, split string, cases []MedCase, optionsAsText bool) error {
	most := 0
	for _, c := range cases {
		most = max(most, len(c.Images))
	}
	text := func() parquet.Node { return parquet.Optional(parquet.String()) }
	group := parquet.Group{"is_longitudinal": parquet.Leaf(parquet.BooleanType), "timepoint_count": parquet.Optional(parquet.Leaf(parquet.DoubleType)),
		"image_count": parquet.Optional(parquet.Int(64))}
	for _, name := range []string{"title", "CLINICAL_HISTORY", "IMAGING_FINDINGS", "discussion", "interval_text", "correct_answer", "correct_answer_text", "ICD Chapter", "ICD Block", "ICD Category", "url"} {
		group[name] = text()
	}
	options := parquet.Group{}
	for _, l := range strings.Split("ABCDE", "") {
		options[l] = text()
	}
	group["options"] = parquet.Optional(options)
	if optionsAsText {
		group["options"] = text()
	}
	for k := range most {
		for _, part := range []string{"id", "path", "caption", "modality", "sub_modality"} {
			group[fmt.Sprintf("image_%02d_%s", k+1, part)] = text()
		}
		group[fmt.Sprintf("image_%02d", k+1)] = parquet.Optional(parquet.Group{"bytes": parquet.Optional(parquet.Leaf(parquet.ByteArrayType)), "path": text()})
	}
	f, err := os.Create(filepath.Join(dir, split+".parquet"))
	if err != nil {
		return fmt.Errorf("write a synthetic MedThinkVQA file: %w", err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[map[string]any](f, parquet.NewSchema("cases", group), parquet.MaxRowsPerRowGroup(10), parquet.Compression(&parquet.Snappy))
	for _, c := range cases {
		row := map[string]any{"title": c.Title, "CLINICAL_HISTORY": c.History, "IMAGING_FINDINGS": c.Findings, "discussion": orNil(c.Discussion), "interval_text": c.Interval,
			"correct_answer": c.Answer, "correct_answer_text": c.Options[c.Answer], "ICD Chapter": c.Chapter, "ICD Block": c.Block, "ICD Category": c.Category,
			"is_longitudinal": c.Longitudinal, "timepoint_count": float64(c.Timepoints), "image_count": int64(len(c.Images))}
		if optionsAsText {
			b, err := json.Marshal(c.Options)
			if err != nil {
				return err
			}
			row["options"] = string(b)
		} else {
			inner := map[string]any{}
			for l, o := range c.Options {
				inner[l] = o
			}
			row["options"] = inner
		}
		for k, im := range c.Images {
			for part, v := range map[string]string{"id": im.ID, "path": im.Path, "caption": im.Caption, "modality": im.Modality, "sub_modality": im.Submodality} {
				row[fmt.Sprintf("image_%02d_%s", k+1, part)] = orNil(v)
			}
			row[fmt.Sprintf("image_%02d", k+1)] = map[string]any{"bytes": im.File, "path": im.Path}
		}
		if _, err := w.Write([]map[string]any{row}); err != nil {
			return fmt.Errorf("write a synthetic MedThinkVQA file: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write a synthetic MedThinkVQA file: %w", err)
	}
	return f.Close()
}
