// Package columns says what the columns of a table of rows are, for files, pages and
// whoever reads them.
package columns

// Kind is what a column holds. Every column may lack a value.
type Kind string

const (
	Text    Kind = "text"
	Number  Kind = "number" // 64-bit floating point
	Integer Kind = "integer"
	Truth   Kind = "truth" // true or false
)

// Column is one column of a file.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	Unit string `json:"unit,omitempty"` // "1" for shares and for 0 or 1
	Help string `json:"help"`
	// Few says that many rows share a text: Parquet then keeps each once.
	Few bool `json:"-"`
}
