package dataset

import "strings"

// Tasks are the thirteen tasks of M3CoTBench by the paper's names.
func Tasks() []string {
	return []string{"Diagnosis", "Recognition", "Action", "Localization", "Cause", "Examination Type", "Function",
		"Referring Recognition", "Prediction", "Grading", "Counting", "Image Quality", "Symptom"}
}

// taskOf maps a data set's own word for a task to the paper's name.
func taskOf(word string) (task string, ok bool) {
	key := strings.ToLower(strings.Join(strings.Fields(word), " "))
	switch key {
	case "treatment":
		key = "action"
	case "modality":
		key = "examination type"
	case "refering recognition":
		key = "referring recognition"
	}
	for _, t := range Tasks() {
		if strings.ToLower(t) == key {
			return t, true
		}
	}
	return "", false
}
