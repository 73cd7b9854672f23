package store

import (
	"context"
	"database/sql"
	"time"
)

// Left is what can still be read of a store that cannot be opened, or not be
// read to its end. A nil or empty field could not be read.
type Left struct {
	Schema  *int // version of the store's schema
	Name    string
	Version string // of assay
	Created time.Time
	Items   *int
	Blocks  []leftBlock
}

// leftBlock is how far one model's trials of one study can be read.
type leftBlock struct {
	Study, Model      string
	Answers, Failures int
	Judgments         int
	Broken            bool // there are more, which cannot be read
}

// LookForLeft reads what can be read of the file at path, whatever state it is in, and
// changes nothing. The error says that there is no such file; everything else is
// a gap in what is returned.
func LookForLeft(ctx context.Context, path string) (Left, error) {
	var out Left
	f, err := openDamaged(path)
	if err != nil {
		return out, err
	}
	defer f.Close()
	row := func(query string, dest ...any) bool {
		found, err := f.One(ctx, "looking", query, nil, dest...)
		return found && err == nil
	}
	var schema int
	if row("PRAGMA user_version", &schema) {
		out.Schema = &schema
	}
	var created sql.NullInt64
	// One by one: what lies after the config may be on pages that are gone.
	row("SELECT name FROM run", &out.Name)
	if row("SELECT created_ns FROM run", &created) && created.Valid {
		out.Created = time.Unix(0, created.Int64).UTC()
	}
	row("SELECT assay_version FROM run", &out.Version)
	var items int
	if row("SELECT count(*) FROM item", &items) {
		out.Items = &items
	}
	// As far as they can be told, by steps along the key.
	next, args := "SELECT study, model FROM trial ORDER BY study, model LIMIT 1", []any(nil)
	for {
		var b leftBlock
		if found, err := f.One(ctx, "looking", next, args, &b.Study, &b.Model); err != nil || !found {
			return out, nil
		}
		out.Blocks = append(out.Blocks, leftOf(ctx, f, b.Study, b.Model))
		next, args = "SELECT study, model FROM trial WHERE (study, model) > (?, ?) ORDER BY study, model LIMIT 1", []any{b.Study, b.Model}
	}
}

func leftOf(ctx context.Context, f *File, study, model string) leftBlock {
	b := leftBlock{Study: study, Model: model}
	count := func(query string, each func(kind sql.NullString)) {
		for kind, err := range Query(ctx, f, "looking", query, []any{study, model}, func(row func(...any) error) (kind sql.NullString, err error) {
			return kind, row(&kind)
		}) {
			if err != nil {
				b.Broken = true
				return
			}
			each(kind)
		}
	}
	count("SELECT failure_kind FROM trial WHERE study = ? AND model = ?", func(kind sql.NullString) {
		if kind.Valid {
			b.Failures++
		} else {
			b.Answers++
		}
	})
	count(`SELECT j.verdict FROM trial t CROSS JOIN case_of o ON o.trial = t.id CROSS JOIN judgment j ON j.case_id = o.case_id WHERE t.study = ? AND t.model = ?`,
		func(sql.NullString) { b.Judgments++ })
	return b
}
