package fleet

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Variable is the environment variable that says where the database is.
const Variable = "ASSAY_FLEET"

const likeThis = "postgres://user@host:5432/assay?sslmode=verify-full"

// AddressError is an address of a database that cannot be used. It holds no password.
type AddressError struct{ error }

func (e AddressError) Unwrap() error { return e.error }

// settings are how the database at an address is reached: that given on the command
// line or, where that is empty, the one in the environment.
func settings(given string, env func(string) string) (*pgxpool.Config, error) {
	address, of := given, "the address"
	if given == "" {
		address, of = env(Variable), Variable
	}
	if address == "" {
		return nil, AddressError{fmt.Errorf("expected the address of a PostgreSQL database in %s, as %s, found none", Variable, likeThis)}
	}
	if given != "" && hasPassword(given) {
		return nil, AddressError{fmt.Errorf("found a password in the command line, which everybody on this machine can read: leave it out, and put it into PGPASSWORD or ~/.pgpass, or the whole address into %s", Variable)}
	}
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		// The library's error repeats the address, which may hold a password that cannot be told from the rest.
		return nil, AddressError{fmt.Errorf("%s cannot be read: expected one as %s (characters such as @ / : %% in a password as %%40 %%2F %%3A %%25)", of, likeThis)}
	}
	if !saysTLS(address, env) {
		encrypt(&cfg.ConnConfig.Config)
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "assay"
	return cfg, nil
}

var wordPassword = regexp.MustCompile(`(^|[\s?&])password\s*=`)

// hasPassword says whether an address holds one.
func hasPassword(address string) bool {
	if wordPassword.MatchString(address) {
		return true
	}
	if u, err := url.Parse(address); err == nil {
		_, is := u.User.Password()
		return is
	}
	return strings.Contains(address, "@")
}

// saysTLS says whether the user decided on encryption.
func saysTLS(address string, env func(string) string) bool {
	return regexp.MustCompile(`(^|[\s?&])(sslmode|service)\s*=`).MatchString(address) || env("PGSSLMODE") != "" || env("PGSERVICE") != ""
}

// encrypt takes away the ways without TLS to other machines. Where nothing is said,
// the library would try such a way when the first fails.
func encrypt(cfg *pgconn.Config) {
	var fallbacks []*pgconn.FallbackConfig
	for _, f := range cfg.Fallbacks {
		if f.TLSConfig != nil || loopback(f.Host) {
			fallbacks = append(fallbacks, f)
		}
	}
	cfg.Fallbacks = fallbacks
}

func loopback(host string) bool {
	if strings.HasPrefix(host, "/") || strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// masked is an error without the database's password.
type masked struct {
	text string
	err  error
}

func (m masked) Error() string { return m.text }
func (m masked) Unwrap() error { return m.err }

// mask takes a password out of what an error says.
func mask(err error, password string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) {
		text = strings.Join(strings.Fields(text), " ") // it has lines of its own
	}
	if password != "" {
		text = strings.ReplaceAll(text, password, "[password]")
		text = strings.ReplaceAll(text, url.QueryEscape(password), "[password]")
		text = strings.ReplaceAll(text, url.PathEscape(password), "[password]")
	}
	if text == err.Error() {
		return err
	}
	return masked{text, err}
}
