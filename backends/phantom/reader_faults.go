package phantom

// Fault is something that goes wrong with a reply, and how often.
type Fault struct {
	Kind FaultKind
	Rate float64 // of replies; of several faults, at most one strikes
}

// FaultKind is what goes wrong.
type FaultKind string

// The faults. Those marked with * break no rule of the protocol: a client must
// read the reply as if nothing had happened.
const (
	FaultErrorInBand FaultKind = "error-in-band" // the stream ends in an error
	faultRoleFirst   FaultKind = "role-first"    // * a first chunk without text, long before the others
	faultManyTokens  FaultKind = "many-tokens"   // * eight tokens to a chunk
	FaultSplitUTF8   FaultKind = "split-utf8"    // * letters are cut between two writes
	faultComments    FaultKind = "comments"      // * comments between events, or empty lines
	FaultNoUsage     FaultKind = "no-usage"      // * nothing is counted
	faultSlowDrip    FaultKind = "slow-drip"     // * every byte by itself
	FaultEarlyClose  FaultKind = "early-close"   // the connection ends in the middle
	FaultStall       FaultKind = "stall"         // nothing more comes, and the connection stays
	FaultLongLine    FaultKind = "long-line"     // a line of 100 MB
	FaultWrongType   FaultKind = "wrong-type"    // status 200 and a web page
	FaultReset       FaultKind = "reset"         // RST in the middle
	FaultLoading     FaultKind = "loading"       // 503
	FaultInternal    FaultKind = "internal"      // 500
)

// FaultKinds are all faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultErrorInBand, faultRoleFirst, faultManyTokens, FaultSplitUTF8, faultComments, FaultNoUsage, faultSlowDrip,
		FaultEarlyClose, FaultStall, FaultLongLine, FaultWrongType, FaultReset, FaultLoading, FaultInternal}
}

// Whole reports whether the fault can strike a reply that is no stream.
func (k FaultKind) Whole() bool {
	return k == FaultWrongType || k == FaultLoading || k == FaultInternal
}

// Strikes is the fault that u, uniform in 0..1, stands for; "": none.
func (p Profile) Strikes(u float64) FaultKind {
	for _, f := range p.Faults {
		if u -= f.Rate; u < 0 {
			return f.Kind
		}
	}
	return ""
}
