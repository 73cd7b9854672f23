package rating

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Coordinator is the name of the one who leads the study.
const Coordinator = "coordinator"

// rounds make a guess of a code cost some hundredths of a second.
const rounds = 100_000

// alphabet of codes: nothing that is read as another character.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newCode is 80 bits of chance.
func newCode() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	var out strings.Builder
	for i, x := range b {
		if i > 0 && i%4 == 0 {
			out.WriteByte('-')
		}
		out.WriteByte(alphabet[x%32])
	}
	return out.String()
}

// random is 256 bits of chance as text.
func random() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// plain is a code as it was given out, however it was typed.
func plain(code string) string {
	code = strings.NewReplacer("O", "0", "I", "1", "L", "1", "U", "V").Replace(strings.ToUpper(code))
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(alphabet, r) {
			return r
		}
		return -1
	}, code)
}

// hashed is what is kept of a code.
func hashed(code, salt string) (string, error) {
	key, err := pbkdf2.Key(sha256.New, plain(code), []byte(salt), rounds, 32)
	return hex.EncodeToString(key), err
}

// Codes gives a code to each rater that has none, and to the coordinator, and new ones to
// those of renew; who gets one joins. It returns them by name: nothing else ever does.
func (l *Log) Codes(names, renew []string) (map[string]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	for _, name := range append([]string{Coordinator}, append(names, renew...)...) {
		who := l.state.rater(name)
		lead := name == Coordinator
		if lead {
			who = l.state.lead
		}
		again := false
		for _, n := range renew {
			again = again || n == name
		}
		if _, has := out[name]; has || who != nil && !again {
			continue
		}
		code := newCode()
		h, err := hashed(code, l.state.salt)
		if err != nil {
			return nil, err
		}
		if err := l.put(event{Kind: kindCode, Rater: name, Lead: lead, Code: h}); err != nil {
			return nil, err
		}
		out[name] = code
	}
	for i, p := range l.state.raters { // also of those whom a crash left without one
		if p.order != nil {
			continue
		}
		if err := l.put(event{Kind: kindOrder, Rater: p.name, Order: showingOrder(l.state.study, i)}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// errCode is said of every wrong code.
var errCode = errors.New("this code is not known")

// signIn begins a session for who has a code.
func (l *Log) signIn(code string) (token string, lead bool, err error) {
	l.mu.Lock()
	salt := l.state.salt
	l.mu.Unlock()
	h, err := hashed(code, salt) // outside of the lock: it takes its time
	if err != nil {
		return "", false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var who *person
	all := l.state.raters
	if l.state.lead != nil {
		all = append(all[:len(all):len(all)], l.state.lead)
	}
	for _, p := range all { // all are compared, whichever it is
		if subtle.ConstantTimeCompare([]byte(p.code), []byte(h)) == 1 {
			who = p
		}
	}
	if who == nil {
		return "", false, errCode
	}
	token = random()
	lead = who == l.state.lead
	return token, lead, l.put(event{Kind: kindSignIn, Rater: who.name, Lead: lead, Session: digest(token)})
}

// session is who has a token; false: nobody.
func (l *Log) session(token string) (session, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.state.sessions[digest(token)]
	return s, ok && token != "" && l.now().Before(s.until)
}

func (l *Log) signOut(token string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.state.sessions[digest(token)]
	if !ok {
		return nil
	}
	return l.put(event{Kind: kindSignOut, Rater: s.who.name, Lead: s.lead, Session: digest(token)})
}

// guesses limits how often a code can be tried: ten at once from one address, then one
// in six seconds, and thirty and two a second from all of them.
type guesses struct {
	mu  sync.Mutex
	all *rate.Limiter
	of  map[string]*rate.Limiter
}

func newGuesses() *guesses {
	return &guesses{all: rate.NewLimiter(2, 30), of: map[string]*rate.Limiter{}}
}

// most addresses that are told apart: a flood of them is held back together.
const mostAddresses = 10_000

func (g *guesses) allow(address string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.of) > mostAddresses {
		clear(g.of)
	}
	if g.of[address] == nil {
		g.of[address] = rate.NewLimiter(rate.Every(6*time.Second), 10)
	}
	return g.of[address].AllowN(now, 1) && g.all.AllowN(now, 1)
}

// CheckNames says which names of raters cannot be: they stand in files and tables.
func CheckNames(names []string) error {
	for i, n := range names {
		for _, m := range names[:i] {
			if n == m {
				return fmt.Errorf("rater %q is named twice", n)
			}
		}
		if n == Coordinator {
			return fmt.Errorf("expected names of raters, found %q: a coordinator has a code in any case", n)
		}
		if n == "" || len(n) > 40 || strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" {
			return fmt.Errorf("expected names of raters of letters, digits, _ - . (at most 40; a pseudonym does), found %q", n)
		}
	}
	return nil
}

// Known says which of some names have no code yet.
func (l *Log) Known(names []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range names {
		if l.state.rater(n) == nil && (n != Coordinator || l.state.lead == nil) {
			return fmt.Errorf("expected somebody who has a code, found %q: --rater gives a first one", n)
		}
	}
	return nil
}
