package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// schema is what a data set of a kind holds, in words.
type schema struct {
	Kind   string          `json:"kind"`
	Is     string          `json:"is"`
	Fields []Field         `json:"fields"`
	Line   json.RawMessage `json:"json_schema,omitempty"` // of JSON lines that name nothing else
}

// SchemaOf is that of a kind.
func SchemaOf(kind string) (schema, error) {
	needed := func(name, is string) Field {
		return Field{Name: name, Needed: true, Names: []string{name}, Is: is}
	}
	besides := func(name, is string) Field {
		return Field{Name: name, Names: []string{name}, Is: is}
	}
	const columns = "; columns: {FIELD: COLUMN} in bench.yaml says which column is what, and what it does not say is guessed from these names"
	s := schema{Kind: kind, Fields: Fields()}
	switch kind {
	case KindCSV:
		s.Is = "A file of cells with commas (or ; or tabs) between them, whose first line names the columns" + columns
	case kindTSV:
		s.Is = "A file of cells with tabs between them, whose first line names the columns" + columns
	case kindParquet:
		s.Is = "A Parquet file, or a folder with data/SPLIT-00000-of-00001.parquet; a picture is a struct of bytes and path, or a list of these" + columns
	case KindVLMEvalKit:
		s.Is = "A TSV file as VLMEvalKit has it: pictures in base64, or the index of another row that has it" + columns
		s.Fields = []Field{needed("index", "names the item, each once"), needed("image", "a picture in base64, a list of them, or the index of another row; image_path in its place names files"),
			needed("question", "as it is to be asked"), besides("A, B, C, ...", "the options; without them yes, no or a text is asked for"), needed("answer", "a letter, yes, no, or a text"),
			besides("hint", "stands before the question"), besides("category", "what tables group items by; else l2-category"), besides("split", "split: NAME in bench.yaml reads its rows alone")}
	case KindJSONL:
		s.Is = "A file of one JSON object a line. Lines that keep the JSON Schema (--json prints it) are read as they are; where the first has other names, lacks a type, or has its options as texts, it is a table" + columns
		var doc struct {
			Required   []string
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal([]byte(jsonlSchema), &doc); err != nil {
			return s, fmt.Errorf("the schema of a line: %w", err)
		}
		s.Line, s.Fields = json.RawMessage(jsonlSchema), nil
		for _, name := range append(slices.Clone(doc.Required), slices.DeleteFunc(slices.Sorted(maps.Keys(doc.Properties)), func(n string) bool { return slices.Contains(doc.Required, n) })...) {
			s.Fields = append(s.Fields, Field{Name: name, Needed: slices.Contains(doc.Required, name), Names: []string{name}, Is: doc.Properties[name].Description})
		}
	case KindM3CoTBench:
		s.Is = "A folder with M3CoTBench.xlsx, type.xlsx and images/INDEX.png (or jpg, jpeg, webp)"
		s.Fields = []Field{needed("index", "a whole number from 1; names the item and its picture"), needed("question", "with its options on lines that start with A. or A)"), needed("answer", "the gold answer"),
			besides("A to Z", "the options again, the same as in the question"), besides("modality, feature, key_conclusion, additional_analysis", "the gold steps; empty: there is none"),
			besides("key_annotation_steps", `more ways to the answer, JSON {"solution1": {...}}`), needed("index, analysis_type", "of type.xlsx: the task of each item")}
	case KindTAIX:
		s.Is = "A folder with data/{train,val,test}-*.parquet, a row for each image and question"
		s.Fields = []Field{needed("UID", "of the image; it is hashed and not kept"), needed("Question", ""), needed("Answer", ""), needed("Type", "binary, ordinal, comparison or spatial"), needed("Image", "a struct of bytes and path")}
	case KindMedThinkVQA:
		s.Is = "A folder with {train,test}.jsonl or .parquet and images/caseXXXXX/, a row for each case"
		s.Fields = []Field{needed("CLINICAL_HISTORY", "what a doctor would be told"), needed("options", "A to E"), needed("correct_answer", "a letter"), needed("image_NN_path", "NN is 01 to 49"),
			besides("title, IMAGING_FINDINGS, discussion, image_NN_caption", "what gives the answer away: no prompt has it unless a condition is about it"), besides("ICD Chapter", "and other columns of the publication")}
	default:
		return s, fmt.Errorf("no data set is of kind %s", kind)
	}
	return s, nil
}
