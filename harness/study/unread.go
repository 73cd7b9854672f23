package study

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

// unreadShown is how many answers are shown that could not be read.
const unreadShown = 3

// ReadHeadline is the share of answers that could be read, where some could not: what a report
// begins with names it beside the accuracy.
func ReadHeadline(accounts []*Account, table string, row ...string) []results.Headline {
	if !slices.ContainsFunc(accounts, func(a *Account) bool { return a.Unread > 0 }) {
		return nil
	}
	return []results.Headline{{Table: table, Column: "read", Row: row, Title: "Read"}}
}

// WithUnread adds a table to the section of what was left out: the first answers that could
// not be read, of as many models and arms as can be. Without any it adds none.
func (b *Basis) WithUnread(ctx context.Context, st *store.Store, accounts []*Account, list []results.Section) ([]results.Section, error) {
	t := results.Table{Name: b.Study + "-unread", Title: "Answers that could not be read",
		Notes: []string{"The first " + strconv.Itoa(unreadShown) + ", of as many models and arms as can be. They count as wrong. assay view finds all of them: no_answer is 1."},
		Columns: []results.Column{TextColumn("model", "Model"), TextColumn("arm", "Arm"), TextColumn("condition", "Condition"), TextColumn("item", "Item"),
			TextColumn("repeat", "Repeat"), TextColumn("answer", "Answer begins")}}
	for nth := range unreadShown {
		for _, a := range accounts {
			if nth >= len(a.Unreadable) || len(t.Rows) == unreadShown {
				continue
			}
			k := a.Unreadable[nth]
			tr, _, err := st.Trial(ctx, k)
			if err != nil {
				return nil, err
			}
			said := ""
			if last, ok := tr.Last(); ok && last.Output != nil {
				said = last.Output.Answer
			}
			t.Rows = append(t.Rows, []results.Cell{Text(k.Model), Text(a.Arm), Text(k.Condition), Text(k.Item), Text(strconv.Itoa(k.Repeat)), Text(beginning(said))})
		}
	}
	for i := range list {
		if list[i].Name == b.Study+"-left-out" && len(t.Rows) > 0 {
			list[i].Tables = append(list[i].Tables, t)
		}
	}
	return list, nil
}

// beginning is the start of an answer, in one line.
func beginning(answer string) string {
	const most = 160 // code points
	said := strings.Join(strings.Fields(text.Outside(answer)), " ")
	switch r := []rune(said); {
	case said == "" && strings.TrimSpace(answer) != "":
		return "(reasoning alone)"
	case said == "":
		return "(nothing)"
	case len(r) > most:
		said = string(r[:most]) + "…"
	}
	return text.Visible(said)
}
