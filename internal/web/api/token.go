package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

const (
	// tokenParameter is the query parameter of a token. EventSource cannot send headers.
	tokenParameter = "token"
	// defaultTokenLife is how long a token is valid if the client does not say.
	defaultTokenLife = time.Hour
	// maxTokenSubscribers is how many streams of a process the holders of tokens for one tenant's
	// videos may have open. Each of them usually is another person.
	maxTokenSubscribers = 1024
)

// newToken describes the body of a request for a token.
type newToken struct {
	ExpiresIn int `json:"expiresIn,omitempty" minimum:"1" maximum:"86400" default:"3600" doc:"How many seconds the token is valid."`
}

// videoToken answers a request for a token.
type videoToken struct {
	Token     string    `json:"token" doc:"Send it as the query parameter token."`
	ExpiresAt time.Time `json:"expiresAt"`
}

func tokenOperation(r huma.Registry) huma.Operation {
	op := operation(r, "createToken", "POST /api/video/{id}/token", http.StatusCreated, "Create a token for one video",
		requestBody[newToken](r, false), 404, 413, 415)
	op.Description = "A token opens getVideo and getVideoEvents of this one video, without an API key and from pages of any origin: `?token=…`."
	return op
}

// withToken describes that an operation accepts a token too.
func withToken(op huma.Operation) huma.Operation {
	op.Security = []map[string][]string{{"apiKey": {}}, {"videoToken": {}}}
	return op
}

func (a *API) createToken(ctx context.Context, c *call, in *videoPath) (*answer[videoToken], error) {
	id, badID := video.ParseID("id", in.ID)
	life, err := decodeBody(a, c, false, func(body []byte) (time.Duration, error) {
		life, faults, err := decodeTokenLife(body)
		if faults = slices.Concat(faultsIn(badID), faults); err == nil && len(faults) > 0 {
			err = video.InvalidFields(faults...)
		}
		return life, err
	})
	if err != nil {
		return nil, err
	}
	token, expires, err := a.services.Tokens.Create(ctx, c.actor, id, life)
	if err != nil {
		return nil, err
	}
	return &answer[videoToken]{videoToken{Token: token, ExpiresAt: expires.UTC()}}, nil
}

func decodeTokenLife(body []byte) (time.Duration, []video.Fault, error) {
	const field, must = "expiresIn", "must be a whole number"
	if len(body) == 0 {
		return defaultTokenLife, nil, nil
	}
	f, err := parseFields(body, field)
	if err != nil {
		return 0, nil, err
	}
	seconds := int(defaultTokenLife / time.Second)
	if faults := decodeField(f, field, false, must, asWhole, &seconds); faults != nil {
		return 0, faults, nil
	}
	if most := int(auth.MaxTokenLife / time.Second); seconds < 1 || seconds > most {
		return 0, []video.Fault{{Field: field, Code: "out_of_range", Message: fmt.Sprintf("%s from 1 to %d", must, most)}}, nil
	}
	return time.Duration(seconds) * time.Second, nil, nil
}

// asWhole returns -1 for a number that overflows, which is then out of range rather than of the
// wrong type.
func asWhole(raw json.RawMessage) (int, bool) {
	text := string(raw)
	if strings.Trim(text, "-0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1, true
	}
	return n, true
}

// tokenIn returns the token of a request, and the video that it asks for. A token opens two
// operations only; everywhere else it is ignored. So it is if there is a key.
func tokenIn(r *http.Request) (id video.ID, token string, ok bool) {
	if r.Header.Get(headerKey) != "" || r.URL.RawPath != "" || !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method) {
		return "", "", false
	}
	name, below := strings.CutPrefix(r.URL.Path, "/api/video/")
	id, err := video.ParseID("id", strings.TrimSuffix(name, "/events"))
	query := r.URL.Query()
	return id, query.Get(tokenParameter), below && err == nil && query.Has(tokenParameter)
}

// allowTokenOrigins lets pages of any origin read the response, errors included: whoever has the
// token may. It reports whether that was all that the browser asked for.
func allowTokenOrigins(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", headerLastEvent)
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// authenticateToken is authenticate for the holder of a token.
func (a *API) authenticateToken(r *http.Request, h http.Header, id video.ID, token string) (auth.Actor, error) {
	actor, err := a.services.Tokens.Authenticate(r.Context(), id, token)
	if err != nil {
		return auth.Actor{}, a.countFailure(r, err)
	}
	return actor, a.limit.allow(actor.KeyID, a.limit.cost(r), h)
}
