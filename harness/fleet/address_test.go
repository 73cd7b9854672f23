package fleet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func from(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// To another machine nothing goes without TLS unless the user says so; to this one it may.
func TestEncryptedUnlessSaidOtherwise(t *testing.T) {
	for _, c := range []struct {
		address string
		env     map[string]string
		plain   bool // some way is without TLS
		first   bool // the first is
	}{
		{"postgres://u@db.example.org/a", nil, false, false},
		{"postgres://u@db.example.org,db2.example.org/a", nil, false, false},
		{"host=db.example.org user=u", nil, false, false},
		{"postgres://u@db.example.org/a?sslmode=disable", nil, true, true},
		{"postgres://u@db.example.org/a?sslmode=prefer", nil, true, false},
		{"postgres://u@db.example.org/a?sslmode=require", nil, false, false},
		{"host=db.example.org sslmode=prefer", nil, true, false},
		{"postgres://u@db.example.org/a", map[string]string{"PGSSLMODE": "prefer"}, true, false},
		{"postgres://u@127.0.0.1/a", nil, true, false},
		{"postgres://u@[::1]/a", nil, true, false},
		{"postgres://u@localhost/a", nil, true, false},
		{"host=/var/run/postgresql user=u", nil, true, true},
	} {
		for k, v := range c.env {
			t.Setenv(k, v) // the library reads the process's own
		}
		cfg, err := settings(c.address, from(c.env))
		for k := range c.env {
			t.Setenv(k, "")
		}
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		first := cfg.ConnConfig.TLSConfig == nil
		plain := first
		for _, f := range cfg.ConnConfig.Fallbacks {
			plain = plain || f.TLSConfig == nil
		}
		if plain != c.plain || first != c.first {
			t.Errorf("%s %v: without TLS %v, at first %v; want %v, %v", c.address, c.env, plain, first, c.plain, c.first)
		}
	}
}

func TestNoPasswordIsTold(t *testing.T) {
	const secret = "herr/ing@9"
	for _, address := range []string{"postgres://u:herr%2Fing%409@127.0.0.1/a", "postgres://u:herr@127.0.0.1:x/a", "user=u password=herring", "postgres://127.0.0.1/a?user=u&password=herring", "postgres://u:herr%zz@h/a", "host=a password = 'herring'"} {
		if _, err := settings(address, from(nil)); err == nil || strings.Contains(err.Error(), "herr") {
			t.Errorf("on the command line, %s: %v", address, err)
		}
	}
	for _, bad := range []string{"postgres://u:herring@127.0.0.1:x/a", "postgres://u:herr%zz@h/a", "host=a port=x password=herring", "herring"} {
		_, err := settings("", from(map[string]string{Variable: bad}))
		var is AddressError
		if !errors.As(err, &is) || strings.Contains(err.Error(), "herr") {
			t.Errorf("in the environment, %s: %v", bad, err)
		}
	}
	cfg, err := settings("", from(map[string]string{Variable: "postgres://u:herr%2Fing%409@127.0.0.1/a"}))
	if err != nil || cfg.ConnConfig.Password != secret {
		t.Fatal(err)
	}
	inner := fmt.Errorf("role %q at postgres://u:herr%%2Fing%%409@h and %s", secret, secret)
	if got := mask(fmt.Errorf("one: %w", inner), secret); strings.Contains(got.Error(), "herr") || !errors.Is(got, inner) {
		t.Errorf("%v", got)
	}
	if got := mask(inner, ""); got != inner {
		t.Errorf("%v", got)
	}
}

func TestClockOf(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	got := clockOf(at, at.Add(40*time.Millisecond), at.Add(5*time.Second+20*time.Millisecond))
	if got != (clock{Offset: 5 * time.Second, Error: 20 * time.Millisecond}) {
		t.Errorf("%+v", got)
	}
}

func TestTransient(t *testing.T) {
	for err, want := range map[error]bool{
		errors.New("read: connection reset"): true, &pgconn.PgError{Code: "57P01"}: true, &pgconn.PgError{Code: "57P03"}: true, &pgconn.PgError{Code: "40001"}: true,
		&pgconn.PgError{Code: "53300"}: true, &pgconn.PgError{Code: "23505"}: false, &pgconn.PgError{Code: "42P01"}: false, &pgconn.PgError{}: false,
		ErrLost: false, final{errors.New("another plan")}: false,
	} {
		if got := Transient(fmt.Errorf("uploading: %w", err)); got != want {
			t.Errorf("%#v: %v", err, got)
		}
	}
}

func TestUnreachable(t *testing.T) {
	for err, want := range map[error]bool{
		errors.New("conn closed"): true, io.ErrUnexpectedEOF: true, &pgconn.PgError{Code: "57P03"}: true, &net.OpError{Op: "dial", Err: errors.New("refused")}: true,
		errors.New("there is no experiment x"): false, &pgconn.PgError{Code: "42P01"}: false, ErrLost: false,
	} {
		if got := Unreachable(fmt.Errorf("reading: %w", err)); got != want {
			t.Errorf("%#v: %v", err, got)
		}
	}
}

// River takes few names for queues.
func TestQueuesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, model := range []string{"", "gemma3:4b", "Qwen/Qwen2.5-VL", strings.Repeat("long", 40), "ä"} {
		for _, kind := range []kind{Answer, Judge} {
			for _, experiment := range []int64{1, 12} {
				q := Queue(experiment, kind, model)
				if seen[q] || len(q) > 64 || strings.Trim(q, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
					t.Errorf("%s", q)
				}
				seen[q] = true
			}
		}
	}
}
