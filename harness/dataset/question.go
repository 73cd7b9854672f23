package dataset

// Question types of the cot study.
const (
	TypeSingle   = "single"
	typeMultiple = "multiple"
	TypeBool     = "bool"
	typeShort    = "short"
)

// Types are the question types of the cot study, in the order of metrics.md
// section 1.
func Types() []string { return []string{TypeSingle, typeMultiple, TypeBool, typeShort} }

// Question types of the faithfulness study: their answers are one of Item.Options.
const (
	TypeBinary      = "binary"
	TypeOrdinal     = "ordinal"
	TypeComparative = "comparative"
	TypeSpatial     = "spatial"
)

// TypeDiagnosis is that of a case of several images: five options, of which the
// answer is a label (metrics.md section 3).
const TypeDiagnosis = "diagnosis"

// ClosedTypes are the question types of the faithfulness study, in the order of
// metrics.md section 2.1.
func ClosedTypes() []string {
	return []string{TypeBinary, TypeOrdinal, TypeComparative, TypeSpatial}
}
