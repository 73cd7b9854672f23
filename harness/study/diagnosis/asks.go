package diagnosis

import (
	"assay/harness/study"
	"assay/harness/study/diagnosis/discussion"
	"assay/harness/study/diagnosis/step"
)

// asks are the questions to experts who label steps, sentences and discussions. They are
// shown what a judge is.
func asks() map[string]study.Ask {
	grades := []string{"missing or wrong", "partly there", "complete and right"}
	return map[string]study.Ask{
		study.Name:                   study.RightOrWrong(),
		step.Errors:                  {Title: "Steps", Key: true},
		step.Errors + ".is_factual":  {Title: "right?", Help: "Right for this case and in medicine."},
		step.Errors + ".is_critical": {Title: "critical?", Help: "The choice of the answer rests on it."},
		step.Errors + ".error_types": {Title: "what is wrong", Help: "Reasoning: what it concludes does not follow. Image understanding: it misreads an image. Clinical scenario: it misreads history or setting. Medical knowledge: what it says of medicine is wrong."},
		discussion.Sentences:         {Title: "Sentences", Key: true},
		discussion.Sentences + ".factual": {Title: "right?",
			Help: "Right for this case and in medicine; it claims nothing of the patient that neither the case nor the experts say."},
		discussion.Criteria:                      {Title: "Discussion", Key: true},
		discussion.Criteria + ".overview":        {Title: "Overview", Help: "What the disease is, how common, who has it.", Grades: grades},
		discussion.Criteria + ".pathophysiology": {Title: "Pathophysiology", Help: "How it presents, and why.", Grades: grades},
		discussion.Criteria + ".imaging":         {Title: "Imaging", Help: "Which findings lead to the diagnosis.", Grades: grades},
		discussion.Criteria + ".differentiation": {Title: "Differentiation", Help: "How it is told from the other candidates.", Grades: grades},
		discussion.Criteria + ".transfer":        {Title: "Transfer", Help: "What a reader can use in the next case.", Grades: grades},
	}
}
