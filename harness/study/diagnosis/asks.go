package diagnosis

import (
	"assay/harness/study"
)

// asks are the questions to experts who label steps, sentences and discussions. They are
// shown what a judge is.
func asks() map[string]study.Ask {
	grades := []string{"missing or wrong", "partly there", "complete and right"}
	return map[string]study.Ask{
		study.RubricAccuracy:    study.RightOrWrong(),
		errors:                  {Title: "Steps", Key: true},
		errors + ".is_factual":  {Title: "right?", Help: "Right for this case and in medicine."},
		errors + ".is_critical": {Title: "critical?", Help: "The choice of the answer rests on it."},
		errors + ".error_types": {Title: "what is wrong", Help: "Reasoning: what it concludes does not follow. Image understanding: it misreads an image. Clinical scenario: it misreads history or setting. Medical knowledge: what it says of medicine is wrong."},
		sentences:               {Title: "Sentences", Key: true},
		sentences + ".factual": {Title: "right?",
			Help: "Right for this case and in medicine; it claims nothing of the patient that neither the case nor the experts say."},
		criteria:                      {Title: "Discussion", Key: true},
		criteria + ".overview":        {Title: "Overview", Help: "What the disease is, how common, who has it.", Grades: grades},
		criteria + ".pathophysiology": {Title: "Pathophysiology", Help: "How it presents, and why.", Grades: grades},
		criteria + ".imaging":         {Title: "Imaging", Help: "Which findings lead to the diagnosis.", Grades: grades},
		criteria + ".differentiation": {Title: "Differentiation", Help: "How it is told from the other candidates.", Grades: grades},
		criteria + ".transfer":        {Title: "Transfer", Help: "What a reader can use in the next case.", Grades: grades},
	}
}
