package results

// ColumnKind is what a column holds. Every column may lack a value.
type ColumnKind string

const (
	TextColumn    ColumnKind = "text"
	NumberColumn  ColumnKind = "number" // 64-bit floating point
	IntegerColumn ColumnKind = "integer"
	TruthColumn   ColumnKind = "truth" // true or false
)

// FileColumn is one column of a file.
type FileColumn struct {
	Name string     `json:"name"`
	Kind ColumnKind `json:"kind"`
	Unit string     `json:"unit,omitempty"` // "1" for shares and for 0 or 1
	Help string     `json:"help"`
	// Few says that many rows share a text: Parquet then keeps each once.
	Few bool `json:"-"`
	// Like is a column that usually says the same; "": none does.
	Like string `json:"-"`
}
