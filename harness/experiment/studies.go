// Studies is the list of the studies. Everything that plans, runs, judges,
// scores, reports, drafts or previews one finds it here; nothing else tells studies
// apart. To add one: its package, and an entry in All.

package experiment

import (
	"errors"
	"fmt"

	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/harness/study/diagnosis"
	"assay/harness/study/faithfulness"
	"assay/harness/study/qa"
)

// All are the studies, in the order in which they are named to people.
func All() []study.Study {
	return []study.Study{
		cot.Study(),
		faithfulness.Study(),
		diagnosis.Study(),
		qa.Study(),
	}
}

// ErrUnknown is in the chain of the error for a study that this version lacks.
var ErrUnknown = errors.New("no such study in this version")

// NewStudy makes a study with the user's prompts in place of ours and the conditions
// chosen. To be summarized, nothing of it need be.
func NewStudy(name string, prompts map[string]string, c study.Choice) (study.Study, error) {
	for _, s := range All() {
		if s.Name == name {
			return s.With(prompts, c)
		}
	}
	return study.Study{}, fmt.Errorf("study %q: %w", name, ErrUnknown)
}
