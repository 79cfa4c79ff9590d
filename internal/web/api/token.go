package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/limit"
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

// tokenRoutes are the operations on tokens for one video.
type tokenRoutes struct{ tokens *auth.Tokens }

func (r tokenRoutes) register(t *table) {
	addWithBody(t, operation{
		id: "createToken", route: "POST /api/video/{id}/token", summary: "Create a token for one video", tag: "video", optionalBody: true,
		notes:  "A token opens getVideo and getVideoEvents of this one video, without an API key and from pages of any origin: `?token=…`.",
		scopes: []auth.Scope{auth.Read}, status: 201, errors: []int{404, 413, 415}, parameters: []*huma.Param{videoID()},
	}, r.create)
}

// newToken is the body of a request for a token.
type newToken struct {
	ExpiresIn int `json:"expiresIn,omitempty" minimum:"1" maximum:"86400" default:"3600" doc:"How many seconds the token is valid."`
}

// videoToken answers a request for a token.
type videoToken struct {
	Token     string    `json:"token" doc:"Send it as the query parameter token."`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (r tokenRoutes) create(ctx context.Context, c *call, in *newToken) (*videoToken, error) {
	life := time.Duration(in.ExpiresIn) * time.Second
	if life == 0 { // the client did not say
		life = defaultTokenLife
	}
	token, expires, err := r.tokens.Create(ctx, c.actor, c.id, life)
	if err != nil {
		return nil, err
	}
	return &videoToken{Token: token, ExpiresAt: expires.UTC()}, nil
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

// allowTokenOrigins lets pages of any origin read the response, errors included, because the token alone
// gives access. It answers a preflight request itself, and reports whether it did.
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
	return actor, a.limit.allow(limit.Principal{Client: a.Client(r)}, a.limit.cost(r), h)
}
