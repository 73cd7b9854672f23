package rating

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Kinds of events.
const (
	kindBegin   = "begin"   // of the study: its digest, and the salt of codes
	kindCode    = "code"    // a person has a new code
	kindOrder   = "order"   // a rater joined: what he will see
	kindSignIn  = "signin"  // a code was shown and a session begun
	kindSignOut = "signout" // it ended
	kindRate    = "rate"    // a field has another value
	kindTime    = "time"    // a case was in sight for so long
	kindSubmit  = "submit"  // a case is done, and locked
	kindMended  = "mended"  // a line was cut off by a crash, before anybody was told that it was kept
)

// event is a line of the log.
type event struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Rater   string    `json:"rater,omitempty"`
	ID      string    `json:"id,omitempty"`       // as the browser names what it asks for: the same is done once
	Show    int       `json:"position,omitempty"` // from 1, in the rater's order
	Field   string    `json:"field,omitempty"`
	Value   []string  `json:"value,omitempty"`
	Seconds float64   `json:"seconds,omitempty"` // that the case was in sight since the last event that says so
	Session string    `json:"session,omitempty"` // digest
	Code    string    `json:"code,omitempty"`    // digest
	Lead    bool      `json:"coordinator,omitempty"`
	Study   string    `json:"study,omitempty"`
	Salt    string    `json:"salt,omitempty"`
	Order   []showing `json:"order,omitempty"`
	Bytes   int       `json:"bytes,omitempty"`
	After   string    `json:"after"` // digest of the line before; "": there is none
}

// Log is the file of a study's clicks. Every line is on the disk before anybody is told
// that it is kept, and names the one before: what is changed later shows. Safe for
// concurrent use.
type Log struct {
	now  func() time.Time
	sync func() error // has the file on the disk

	mu     sync.Mutex
	file   *os.File
	size   int64
	last   string
	lines  int
	end    *os.File // the number and digest of the last line; nil: read only
	lock   *flock.Flock
	broken error
	state  state
}

// OpenLog opens the log of a study, or begins one. Nobody else may have it open.
func OpenLog(path string, s *Study) (*Log, error) { return openLog(path, s, time.Now) }

func openLog(path string, s *Study, now func() time.Time) (*Log, error) {
	lock := flock.New(path + ".lock") // beside the log, which is read while it is written
	if mine, err := lock.TryLock(); err == nil && !mine {
		return nil, fmt.Errorf("%s: another assay people serve has it open", path)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	end, err := os.OpenFile(path+endEnd, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, f.Close(), lock.Close())
	}
	l := &Log{now: now, sync: f.Sync, file: f, end: end, lock: lock, state: newState(s)}
	if d, err := os.Open(filepath.Dir(path)); err == nil { // that the file is there, too
		_ = d.Sync() // some file systems refuse it
		d.Close()
	}
	err = l.read(path)
	if err == nil {
		err = l.count()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), end.Close(), lock.Close())
	}
	return l, nil
}

// endEnd is behind the name of a log: the file that says how many lines were kept, and the
// digest of the last. It is written after each line, so that it never says more than there
// is, and lines that are missing at the end show.
const endEnd = ".end"

const endFormat = "%020d %s\n"

func (l *Log) count() error {
	_, err := l.end.WriteAt(fmt.Appendf(nil, endFormat, l.lines, l.last), 0)
	return err
}

// counted is what that file says; 0: there is none, as of an older assay.
func counted(path string) (lines int, last string, err error) {
	b, err := os.ReadFile(path + endEnd)
	if len(b) == 0 {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return 0, "", err
	}
	if _, err := fmt.Sscanf(string(b), "%d %s\n", &lines, &last); err != nil {
		return 0, "", fmt.Errorf("%s%s: expected a number of lines and the digest of the last one, found %.40q; if %[1]s is whole, remove %[1]s%[2]s", path, endEnd, b)
	}
	return lines, last, nil
}

// ReadLog is what the log of a study says, while nobody needs to have it for himself.
func ReadLog(path string, s *Study) (*Log, error) {
	lines, last, err := counted(path) // before the log, which may grow
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := &Log{now: time.Now, broken: errors.New("the log is read only"), state: newState(s)}
	_, err = l.replay(path, content, lines, last)
	return l, err
}

// read takes in the whole file, and cuts off what a crash left of a line.
func (l *Log) read(path string) error {
	lines, last, err := counted(path)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	whole, err := l.replay(path, content, lines, last)
	if err != nil {
		return err
	}
	l.size = int64(whole)
	if rest := len(content) - whole; rest > 0 {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
		if err := l.put(event{Kind: kindMended, Bytes: rest}); err != nil {
			return err
		}
	}
	if l.state.salt == "" {
		return l.put(event{Kind: kindBegin, Study: l.state.study.Digest, Salt: random()})
	}
	return nil
}

// replay applies all whole lines and returns how many bytes they are. Of lines it knows the
// digest of the last.
func (l *Log) replay(path string, content []byte, lines int, last string) (int, error) {
	whole := 0
	for n := 1; ; n++ {
		end := bytes.IndexByte(content[whole:], '\n')
		if end < 0 && l.lines < lines {
			return 0, fmt.Errorf("%s: expected %d lines, as many as %[1]s%[3]s says were kept, found %[4]d: its last lines are missing; put the whole file back, or remove both to begin again", path, lines, endEnd, l.lines)
		}
		if end < 0 {
			return whole, nil
		}
		line := content[whole : whole+end]
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("%s:%d: expected an event as assay people serve writes it: %w", path, n, err)
		}
		if e.After != l.last {
			return 0, fmt.Errorf("%s:%d: expected a line that follows the one before it (after: %q), found %q: lines were changed, added or taken out", path, n, l.last, e.After)
		}
		if err := l.state.apply(e); err != nil {
			return 0, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		l.last = digest(string(line))
		l.lines++
		if l.lines == lines && l.last != last {
			return 0, fmt.Errorf("%s:%d: expected the line whose digest %[1]s%[3]s has, found another: it was changed", path, n, endEnd)
		}
		whole += end + 1
	}
}

// put writes an event and has it on the disk, then applies it. mu is held, or nobody
// else has the log yet.
func (l *Log) put(e event) error {
	if l.broken != nil {
		return l.broken
	}
	e.At, e.After = l.now().UTC(), l.last
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(line, '\n'), l.size)
	if err == nil {
		err = l.sync()
	}
	if err != nil {
		// What is half there must not become a line with the next one.
		if cut := l.file.Truncate(l.size); cut != nil {
			l.broken = fmt.Errorf("the log cannot be written any more: %w", errors.Join(err, cut))
		}
		return err
	}
	if err := l.state.apply(e); err != nil {
		panic("rating: internal error: an event that cannot be: " + err.Error())
	}
	l.size += int64(len(line)) + 1
	l.last = digest(string(line))
	l.lines++
	_ = l.count() // the line is kept; without this only a later loss would not show
	return nil
}

// Close lets others open the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	l.broken = errors.New("the log is closed")
	return errors.Join(l.end.Close(), l.file.Close(), l.lock.Close())
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
