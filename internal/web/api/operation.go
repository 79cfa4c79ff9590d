package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// operation is one method of one path: who may use it, and how it is described.
type operation struct {
	id      string // generators of clients make a method of it
	route   string // such as "GET /api/video/{id}"; an {id} is always a UUID
	summary string
	notes   string // a longer description; may be empty
	tag     string // the group that it belongs to
	scopes  []auth.Scope
	status  int   // of the answer, unless the handler sets another
	errors  []int // the error statuses beside those that every operation can have

	parameters   []*huma.Param
	optionalBody bool
	byToken      bool // a token for the video opens it, too
	costly       bool // making the answer takes a place for computing
	// check returns what is wrong with the request beside its id and its body; may be nil.
	check func(*http.Request) []video.Fault
	// describe adds to the description what the other fields cannot say; may be nil.
	describe func(*huma.Operation, huma.Registry)
}

// isChange reports whether the operation changes some fields of a thing. A field that it does not know is refused:
// ignoring it would look like a change.
func (op *operation) isChange() bool { return strings.HasPrefix(op.route, http.MethodPatch+" ") }

// table is the route table, and the description of its operations.
type table struct {
	mux *http.ServeMux
	// resolutions has the routes below resolutionPath. In one mux, /api/video/{id}/chapters and
	// /api/video/resolution/{id} would conflict, although "resolution" is no id.
	resolutions *http.ServeMux
	doc         *huma.OpenAPI
}

const resolutionPath = "/api/video/resolution/"

func newTable() *table {
	return &table{mux: http.NewServeMux(), resolutions: http.NewServeMux(), doc: newDescription()}
}

// handler serves the routes.
func (t *table) handler() http.Handler {
	all, resolutions := problem.Mux(t.mux), problem.Mux(t.resolutions)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, resolutionPath) {
			resolutions.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// nothing is the answer of an operation that answers with a status alone.
type nothing struct{}

// add adds an operation that takes no JSON body. An answer of nil is a status alone.
func add[O any](t *table, op operation, handle func(context.Context, *call) (*O, error)) {
	t.add(&op, nil, reflect.TypeFor[O](), func(ctx context.Context, c *call) (any, error) {
		if err := invalidFields(slices.Concat(c.pathFaults(&op), op.faults(c.request))); err != nil {
			return nil, err
		}
		return answer(handle(ctx, c))
	})
}

// addWithBody adds an operation whose JSON body is decoded into a B.
func addWithBody[B, O any](t *table, op operation, handle func(context.Context, *call, *B) (*O, error)) {
	t.add(&op, reflect.TypeFor[B](), reflect.TypeFor[O](), func(ctx context.Context, c *call) (any, error) {
		in := new(B)
		if err := c.decode(in, &op); err != nil {
			return nil, err
		}
		return answer(handle(ctx, c, in))
	})
}

// answer is nil for a nil pointer.
func answer[O any](out *O, err error) (any, error) {
	if out == nil {
		return nil, err
	}
	return out, err
}

// add adds an operation to the routes and to the description.
func (t *table) add(op *operation, body, answer reflect.Type, handle func(context.Context, *call) (any, error)) {
	t.describe(op, body, answer)
	mux := t.mux
	if strings.Contains(op.route, " "+resolutionPath) {
		mux = t.resolutions
	}
	mux.HandleFunc(op.route, func(_ http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(callKey{}).(*call) // every route is behind authenticated
		c.request, c.status = r, op.status
		// Scopes are checked first, so a key that lacks one costs the server nothing more.
		err := c.actor.Require(op.scopes...)
		if err == nil && op.costly {
			err = c.turn.Work(r.Context())
		}
		if err == nil {
			var out any
			if out, err = handle(r.Context(), c); err == nil {
				err = c.send(out)
			}
		}
		if err != nil {
			problem.Write(c.writer, r, err)
		}
	})
}

// pathFaults returns what is wrong with the path and the headers of a request. It parses the {id} of the path.
func (c *call) pathFaults(op *operation) (faults []video.Fault) {
	if strings.Contains(op.route, "{id}") {
		var err error
		c.id, err = video.ParseID("id", c.request.PathValue("id"))
		faults = faultsIn(err)
	}
	return faults
}

// faults returns what is wrong with a request beside its id and its body.
func (op *operation) faults(r *http.Request) []video.Fault {
	if op.check == nil {
		return nil
	}
	return op.check(r)
}

// streamAnswer is an answer that writes itself.
type streamAnswer func(http.ResponseWriter)

// send sends the answer of an operation. A large one counts as memory of the tenant until its client has read
// it. The answer to a change is sent in any case, because the change was made.
func (c *call) send(out any) (err error) {
	if s, ok := out.(*streamAnswer); ok {
		(*s)(c.writer)
		return nil
	}
	body := c.encoded
	if body == nil && out == nil {
		c.writer.WriteHeader(c.status)
		return nil
	}
	if body == nil {
		if body, err = encode(out); err != nil {
			return err
		}
	}
	if isRead := c.request.Method == http.MethodGet; isRead && len(body) > smallBody {
		if err := c.turn.Memory(c.request.Context(), int64(cap(body))); err != nil {
			return err
		}
	}
	c.turn.EndWork()
	c.writer.Header().Set("Content-Type", cmp.Or(c.contentType, "application/json"))
	c.writer.WriteHeader(c.status)
	_, _ = c.writer.Write(body) // fails if the client has disconnected
	return nil
}

// encode returns v in JSON, with a newline at its end. It does not escape HTML characters.
func encode(v any) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return body.Bytes(), err
}
