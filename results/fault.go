package results

// Fault is a class of trouble with a store. Test with errors.Is.
type Fault string

const (
	FaultMissing  Fault = "there is no store"
	FaultInUse    Fault = "the store is in use"
	FaultNewer    Fault = "the store was written by a newer assay"
	FaultForeign  Fault = "the file is not an assay store"
	FaultDamaged  Fault = "the store is damaged"
	FaultFull     Fault = "the disk is full"
	FaultReadOnly Fault = "the store cannot be written"
	FaultDisk     Fault = "the disk cannot be read or written"
	FaultReading  Fault = "the store was opened for reading"
	FaultClosed   Fault = "the store is closed"
)

func (f Fault) Error() string { return string(f) }

// Trouble is what went wrong with a store; it wraps a Fault where there is a known
// one. Path is the store's file.
type Trouble struct {
	Path string
	Err  error // what was attempted, and what to do
}

func (t *Trouble) Error() string { return t.Err.Error() }

func (t *Trouble) Unwrap() error { return t.Err }
