package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/need"
)

// findDex returns the OpenID provider that scripts/install-dex.sh builds.
func findDex(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.cache/bin/dexserver")
	if err != nil {
		t.Fatal(err)
	}
	return need.Program(t, path, "dexserver")
}

// people are who can sign in at the provider, all with the password "pw". Alice is an admin.
var people = []map[string]any{
	{"email": "alice@example.com", "name": "Alice", "password": "pw"},
	{"email": "bob@example.com", "name": "Bob", "password": "pw", "groups": []string{"staff", "acme:read", "zoo:read,write"}},
	{"email": "eve@example.com", "name": "Eve", "password": "pw", "groups": []string{"staff"}},
	{"email": "mallory@example.com", "name": "Mallory", "password": "pw", "unverified": true},
}

// withProvider runs dex, and has a server sign people in with it.
func withProvider(t *testing.T) option {
	t.Helper()
	program, at, dex := findDex(t), freeAddress(t), freeAddress(t)
	config, err := json.Marshal(map[string]any{"listen": dex, "people": people, "clients": []map[string]any{
		{"id": "spool", "secret": "s3cret", "name": "Spool", "redirectURIs": []string{"http://" + at + "/signin/callback"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	in, errIn := cmd.StdinPipe() // closed when this process ends
	out, errOut := cmd.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	exited, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("start the provider: %v", err)
	}
	t.Cleanup(func() { in.Close(); <-exited })
	if _, err := in.Write(config); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the provider says %q, %v", line, err)
	}
	return func(s *server) {
		for name, value := range map[string]string{"LISTEN": at, "OIDC_ISSUER": "http://" + dex, "OIDC_CLIENT_ID": "spool", "OIDC_CLIENT_SECRET": "s3cret",
			"OIDC_ADMINS": "alice@example.com,mallory@example.com", "OIDC_CLAIM": "groups"} {
			s.env["SPOOL_"+name] = value
		}
	}
}

// guest is a browser without scripts.
type guest struct {
	*server
	http *http.Client
}

func (s *server) guest() *guest {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &guest{s, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// get loads an address and returns the status, where it leads, and the body.
func (v *guest) get(address string) (status int, location, body string) {
	v.t.Helper()
	res, err := v.http.Get(address)
	return v.read(res, err)
}

func (v *guest) read(res *http.Response, err error) (status int, location, body string) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if to, err := res.Location(); err == nil {
		location = to.String()
	}
	return res.StatusCode, location, string(text)
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// atProvider signs in at the provider, and returns the address to which that sends the guest back. to is where the
// guest wants to go.
func (v *guest) atProvider(name, to string) (callback string) {
	v.t.Helper()
	_, at, _ := v.get(v.url + "/signin?to=" + url.QueryEscape(to))
	for range 10 {
		if strings.HasPrefix(at, v.url+"/signin/callback") {
			return at
		}
		status, next, body := v.get(at)
		if status == http.StatusOK {
			m := formAction.FindStringSubmatch(body)
			if m == nil {
				v.t.Fatalf("the provider has no form at %s: %s", at, body)
			}
			base, err := url.Parse(at)
			if err != nil {
				v.t.Fatal(err)
			}
			action, err := base.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err != nil {
				v.t.Fatal(err)
			}
			_, next, _ = v.read(v.http.PostForm(action.String(), url.Values{"login": {name}, "password": {"pw"}}))
		}
		at = next
	}
	v.t.Fatalf("the provider does not send %s back: %s", name, at)
	return ""
}

// signIn signs in, and returns where that leads.
func (v *guest) signIn(name, to string) string {
	v.t.Helper()
	status, location, body := v.get(v.atProvider(name, to))
	if status != http.StatusSeeOther {
		v.t.Fatalf("signing in as %s is answered %d %s", name, status, body)
	}
	return location
}

// me asks the API who the guest is. It returns the status, and whose session in which tenant.
func (v *guest) me() (status int, id, tenant, session string) {
	v.t.Helper()
	status, _, body := v.get(v.url + "/api/key")
	var me struct {
		ID, Tenant string
		Session    struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &me); err != nil {
		v.t.Fatalf("%v: %s", err, body)
	}
	return status, me.ID, me.Tenant, me.Session.ID
}

// wantOut checks that the guest is not signed in.
func (v *guest) wantOut(why string) {
	v.t.Helper()
	if status, id, _, _ := v.me(); status != http.StatusUnauthorized {
		v.t.Errorf("%s: %d, signed in as %s", why, status, id)
	}
}

// cookie returns the value of a cookie.
func (v *guest) cookie(name string) string {
	v.t.Helper()
	at, err := url.Parse(v.url)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range v.http.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (v *guest) setCookie(name, value string) {
	v.t.Helper()
	at, err := url.Parse(v.url)
	if err != nil {
		v.t.Fatal(err)
	}
	v.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

func TestSigningInWithAProvider(t *testing.T) {
	t.Parallel()
	s := start(t, withProvider(t))
	t.Run("an admin does everything", func(t *testing.T) {
		alice := s.in(t).guest()
		if to := alice.signIn("alice@example.com", "#/settings"); to != s.url+"/#/settings" {
			t.Errorf("signing in leads to %s", to)
		}
		if status, id, tenant, _ := alice.me(); status != 200 || id != "alice@example.com" || tenant != "default" {
			t.Errorf("it is %d %s in %s", status, id, tenant)
		}
		if status, _, _ := alice.get(s.url + "/api/system"); status != 200 {
			t.Errorf("the system is answered %d", status)
		}
		if status, _, body := alice.get(s.url + "/api/audit?action=session.create&actor=alice@example.com"); status != 200 || !strings.Contains(body, `"kind":"person"`) {
			t.Errorf("the log is %d %s", status, body)
		}
	})
	t.Run("a claim grants scopes in tenants", func(t *testing.T) {
		bob := s.in(t).guest()
		bob.signIn("bob@example.com", "")
		if _, id, tenant, _ := bob.me(); id != "bob@example.com" || tenant != "acme" {
			t.Errorf("it is %s in %s", id, tenant)
		}
		if status, _, body := bob.read(bob.http.Post(s.url+"/api/video", "application/json", strings.NewReader(`{}`))); status != 403 || !strings.Contains(body, "insufficient_scope") {
			t.Errorf("a create is answered %d %s", status, body)
		}
	})
	t.Run("others are told why", func(t *testing.T) {
		for _, name := range []string{"eve@example.com", "mallory@example.com"} {
			v := s.in(t).guest()
			status, _, body := v.get(v.atProvider(name, ""))
			if status != 403 || !strings.Contains(body, "may not use this server") || !strings.Contains(body, "<html") {
				t.Errorf("%s gets %d %s", name, status, body)
			}
			v.wantOut(name)
		}
	})
	t.Run("nothing leads to another site", func(t *testing.T) {
		v := s.in(t).guest()
		for _, to := range []string{"https://evil.example/", "//evil.example/", "#/..//evil.example\r\nX: y", "/\\evil.example", "#/\"><script>", "javascript:alert(1)"} {
			if at := v.signIn("alice@example.com", to); at != s.url+"/" {
				t.Errorf("%q leads to %q", to, at)
			}
		}
	})
}

func TestAttacksOnSigningIn(t *testing.T) {
	t.Parallel()
	s := start(t, withProvider(t))
	refused := func(t *testing.T, v *guest, callback, why string) {
		t.Helper()
		if status, _, body := v.get(callback); status != 403 || !strings.Contains(body, "<html") {
			t.Errorf("%s is answered %d %s", why, status, body)
		}
		v.wantOut(why)
	}
	t.Run("a code is of no use in another browser", func(t *testing.T) {
		victim, attacker := s.in(t).guest(), s.in(t).guest()
		callback := attacker.atProvider("alice@example.com", "")
		refused(t, victim, callback, "a link with the attacker's code")
		victim.get(s.url + "/signin") // has begun to sign in
		refused(t, victim, callback, "the same, while signing in")
	})
	t.Run("a state is of no use twice", func(t *testing.T) {
		v := s.in(t).guest()
		callback := v.atProvider("alice@example.com", "")
		flow := v.cookie("spool_signin")
		v.get(callback)
		v.setCookie("spool_session", "")
		v.setCookie("spool_signin", flow)
		if status, _, _ := v.get(callback); status < 400 {
			t.Errorf("the second use is answered %d", status)
		}
		v.wantOut("after the second use")
	})
	t.Run("a forged state or cookie", func(t *testing.T) {
		v := s.in(t).guest()
		callback := v.atProvider("alice@example.com", "")
		flow := v.cookie("spool_signin")
		refused(t, v, strings.Replace(callback, "state=", "state=x", 1), "a forged state")
		payload, token, _ := strings.Cut(flow, "~")
		for _, forged := range []string{"", "~", payload, payload + "x~" + token, payload + "~" + strings.Repeat("x", len(token))} {
			v.setCookie("spool_signin", forged)
			refused(t, v, callback, "a forged cookie")
		}
	})
	t.Run("a session that the attacker knows", func(t *testing.T) {
		v := s.in(t).guest()
		v.setCookie("spool_session", "known")
		v.signIn("alice@example.com", "")
		if got := v.cookie("spool_session"); got == "known" || len(got) < 40 {
			t.Errorf("the session is %q", got)
		}
	})
	t.Run("a cookie opens the API alone", func(t *testing.T) {
		v := s.in(t).guest()
		v.signIn("alice@example.com", "")
		up := s.in(t).create(tinyVideo)
		for _, path := range []string{"/v/x/" + up.ID + "/720p.mp4", "/embed/x/" + up.ID} {
			if status, _, _ := v.get(s.url + path); status < 400 {
				t.Errorf("%s is answered %d", path, status)
			}
		}
	})
	t.Run("rights that were taken away", func(t *testing.T) {
		s := s.in(t)
		alice, bob := s.guest(), s.guest()
		alice.signIn("alice@example.com", "")
		bob.signIn("bob@example.com", "")
		s.restart(withEnv("SPOOL_OIDC_ADMINS", "boss@example.com"))
		s.waitReadyz()
		alice.wantOut("somebody who is no admin any more")
		if status, _, _, _ := bob.me(); status != 200 {
			t.Errorf("somebody whose rights did not change gets %d", status)
		}
	})
}

var firstLink = regexp.MustCompile(`http://\S+/signin/link/\S+`)

func TestTheLinkOfTheFirstStart(t *testing.T) {
	t.Parallel()
	oneMachineOnly(t, "the link is in the memory of the process")
	s := start(t, withEnv("SPOOL_API_KEY", ""))
	link := firstLink.FindString(s.out.String())
	if link == "" {
		t.Fatalf("there is no link: %s", s.out)
	}
	v := s.guest()
	proxied, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	proxied.Header.Set("X-Forwarded-For", "192.0.2.1")
	if status, _, body := v.read(v.http.Do(proxied)); status != 403 || !strings.Contains(body, "on the machine that printed it") {
		t.Errorf("from elsewhere it is answered %d %s", status, body)
	}
	if status, _, _ := v.read(v.http.Head(link)); status < 400 {
		t.Errorf("HEAD is answered %d", status)
	}
	if status, to, _ := v.get(link); status != 303 || to != s.url+"/" {
		t.Errorf("the link leads to %d %s", status, to)
	}
	status, id, tenant, session := v.me()
	if status != 200 || tenant != "default" || session == "" || id == "" {
		t.Errorf("it is %d %s in %s", status, id, tenant)
	}
	other := s.guest()
	if status, _, _ := other.get(link); status != 403 {
		t.Errorf("the second use is answered %d", status)
	}
	other.wantOut("after the second use")
	secret := link[strings.LastIndex(link, "/")+1:]
	if strings.Contains(s.log.String(), secret) || strings.Contains(s.log.String(), v.cookie("spool_session")) {
		t.Error("the log has a secret")
	}
	s.restart()
	s.waitReadyz()
	if strings.Contains(s.out.String(), "/signin/link/") {
		t.Error("the second start prints a link, too")
	}
}

// TestSigningInInABrowser signs in on the provider's own page.
func TestSigningInInABrowser(t *testing.T) {
	t.Parallel()
	c := openConsole(t, withProvider(t))
	c.wait("the button", `document.querySelector("#sign-in") !== null`)
	c.tab.emulate(1280, "light")
	c.tab.shoot("sign-in")
	eval[any](c.tab, `document.querySelector("#sign-in").click()`)
	c.wait("the page of the provider", `document.querySelector("#password") !== null && document.querySelector("#login") !== null`)
	eval[any](c.tab, `(document.querySelector("#login").value = "bob@example.com", document.querySelector("#password").value = "pw", document.querySelector("form").submit())`)
	c.wait("the library", `document.querySelector(".library") !== null`)
	eval[any](c.tab, `location.hash = "#/settings"`)
	c.waitText("#key-title", "You")
	c.waitText(".facts", "bob@example.com")
	c.tab.shoot("sign-in-settings")
	eval[any](c.tab, `(document.querySelector("#tenant").value = "zoo", document.querySelector("#tenant").dispatchEvent(new Event("change")))`)
	c.wait("the other tenant", `document.querySelector("#tenant")?.value === "zoo" && [...document.querySelectorAll(".scopes .yes strong")].some((one) => one.textContent === "write")`)
	if n := eval[int](c.tab, `document.cookie.length`); n != 0 {
		t.Errorf("a script reads %d characters of cookies", n)
	}
	if v := c.violations(); len(v) > 0 {
		t.Errorf("the policy of the page was violated: %v", v)
	}
	eval[any](c.tab, `document.querySelector("#forget").click()`)
	c.wait("the question for the key", `document.querySelector("#key") !== null && document.querySelector("#sign-in") !== null`)
	if problem := eval[string](c.tab, `document.querySelector("main .problem")?.textContent ?? ""`); problem != "" {
		t.Errorf("after signing out there is a problem: %s", problem)
	}
}

// TestAdministeringInABrowser ends the session of somebody else, and reads who did what.
func TestAdministeringInABrowser(t *testing.T) {
	t.Parallel()
	c := openConsole(t, withProvider(t))
	alice := c.guest()
	alice.signIn("alice@example.com", "")
	c.wait("the button", `document.querySelector("#sign-in") !== null`)
	eval[any](c.tab, `document.querySelector("#key").focus()`)
	c.enter(apiKey)
	c.wait("the library", `document.querySelector(".library") !== null`)
	eval[any](c.tab, `location.hash = "#/settings"`)
	c.waitText("[aria-labelledby=sessions-title] .name", "Alice")
	c.look("sessions")
	eval[any](c.tab, `document.querySelector("[aria-labelledby=sessions-title] button.danger").click()`)
	c.wait("the question", `document.querySelector("dialog.question[open]") !== null`)
	eval[any](c.tab, `document.querySelector("dialog.question .danger").click()`)
	c.wait("the empty list", `document.querySelector("[aria-labelledby=sessions-title] .key") === null`)
	alice.wantOut("after an administrator has ended the session")

	eval[any](c.tab, `location.hash = "#/audit"`)
	c.waitText("tbody code", "session.end")
	c.look("audit")
	c.click("tbody button", "Alice")
	c.wait("the changes of one person", `[...document.querySelectorAll("tbody code")].every((one) => one.textContent === "session.create")`)
	c.click("button", "Show all")
	c.waitText("tbody code", "session.end")
	eval[any](c.tab, `(document.querySelector("#audit-action").value = "video.delete", document.querySelector("#audit-action").dispatchEvent(new Event("change")))`)
	c.wait("no change", `document.querySelectorAll("tbody tr").length === 0`)
}
