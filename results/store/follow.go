package store

// follower finds the rows of numbers, the first column of a query that begins with the
// rows of ?1 and has them in ascending order. Numbers that follow each other cost a step
// each; any other is sought from the top of the table.
type follower struct {
	*sqliteStmt
	on    bool  // at a row
	at    int64 // its number
	asked int64 // the latest number; no row between it and at is left out
	begun bool
}

// seek goes to the first row of a number; false: it has none, or Err says more.
func (f *follower) seek(number int64) bool {
	const near = 8 // rows, to which stepping is no slower than seeking
	if !f.begun || number <= f.asked {
		return f.bind(number)
	}
	f.asked = number
	for range near {
		if !f.on || f.at >= number {
			return f.on && f.at == number
		}
		f.step()
	}
	return f.bind(number)
}

func (f *follower) bind(number int64) bool {
	f.begun, f.asked = true, number
	f.BindInt(1, number)
	f.step()
	return f.on && f.at == number
}

// next goes to the next row of the number that was sought; false: there is none.
func (f *follower) next() bool {
	f.step()
	return f.on && f.at == f.asked
}

func (f *follower) step() {
	if f.on = f.Next(); f.on {
		f.at = f.Int(0)
	}
}
