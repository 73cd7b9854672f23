//go:build fleet && linux

// Package faults puts fleets of real processes and a real PostgreSQL to the test.
//
//	.ci/fleet            # or just fleet
//
// Each test starts a PostgreSQL of its own, or says SKIP where there is none.
package faults

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL.
type server struct {
	t     testing.TB
	bin   string
	dir   string
	port  int
	cred  *syscall.Credential // nil: ours
	extra []string
	cmd   *exec.Cmd
	log   *os.File
}

// postgres starts a server that ends with the test; more are its options.
func postgres(t testing.TB, more ...string) *server {
	t.Helper()
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			t.Skip("no PostgreSQL is installed (Debian: postgresql)")
		}
		initdb = found[len(found)-1]
	}
	s := &server{t: t, bin: filepath.Dir(initdb), extra: more}
	if s.dir, err = os.MkdirTemp("", "assay-pg-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	if os.Getuid() == 0 { // it refuses to run as root
		who, err := user.Lookup("postgres")
		if err != nil {
			who, err = user.Lookup("nobody")
		}
		if err != nil {
			t.Skip("PostgreSQL does not run as root, and there is no user postgres or nobody")
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	pw := filepath.Join(s.dir, "pw")
	s.put("pw", []byte(password))
	if out, err := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-A", "scram-sha-256", "-U", "assay", "--pwfile", pw, "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.stop(syscall.SIGQUIT) })
	return s
}

// put writes a file that the server owns and nobody else reads.
func (s *server) put(name string, text []byte) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.WriteFile(path, text, 0o600)
	if err == nil && s.cred != nil {
		err = os.Chown(path, int(s.cred.Uid), int(s.cred.Gid))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true}
	return cmd
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = s.command("postgres", append([]string{"-D", filepath.Join(s.dir, "data"), "-p", fmt.Sprint(s.port), "-k", s.dir, "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"}, s.extra...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		c, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			c.Close(ctx)
			return
		}
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(s.log.Name())
			s.t.Fatalf("PostgreSQL does not come up: %v\n%s", err, text)
		case <-tick.C:
		}
	}
}

// stop ends it: SIGINT breaks connections off in order, SIGQUIT is a crash that has to recover.
func (s *server) stop(how syscall.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(how)
	s.cmd.Wait()
	s.cmd = nil
}

const password = "kipper-and-herring"

// url is the address of a database, with the password.
func (s *server) url(database string) string {
	return fmt.Sprintf("postgres://assay:%s@127.0.0.1:%d/%s?connect_timeout=2", password, s.port, database)
}

// database makes one.
func (s *server) database(name string) string {
	s.t.Helper()
	s.do("postgres", "CREATE DATABASE "+name)
	return s.url(name)
}

func (s *server) do(database, query string) {
	s.t.Helper()
	c, err := pgx.Connect(context.Background(), s.url(database))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(context.Background(), query); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// number is the one number that a query gives.
func (s *server) number(database, query string) (n int) {
	s.t.Helper()
	c, err := pgx.Connect(context.Background(), s.url(database))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(context.Background(), query).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// certificate has the server speak TLS with a certificate of its own making.
func (s *server) certificate() {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		s.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s.put("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// program is a process of assay.
type program struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	errs   written
	waited chan struct{}
}

// written is what a process writes while it is read.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// assay is the binary under test.
func assay(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("ASSAY_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "assay")
	if out, err := exec.Command("go", "build", "-o", path, "assay").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func begin(t testing.TB, binary, dir, database string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(binary, args...), waited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.errs
	p.cmd.Env = append(os.Environ(), "ASSAY_FLEET="+database)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.waited)
	}()
	return p
}

// code waits for the exit code; -1: it was killed.
func (p *program) code() int {
	<-p.waited
	return p.cmd.ProcessState.ExitCode()
}

// ok runs a command that is to end with 0.
func ok(t testing.TB, binary, dir, database string, args ...string) string {
	t.Helper()
	p := begin(t, binary, dir, database, args...)
	if code := p.code(); code != 0 {
		t.Fatalf("assay %v: exit code %d\n%s%s", args, code, p.out.String(), p.errs.String())
	}
	return p.out.String()
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
