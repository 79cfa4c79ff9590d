package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/video"
)

// maxFaults is the largest number of faults that a response lists.
const maxFaults = 20

// A request body is a struct. Its tags say what is decoded, and how it is described:
//
//	json      the name of the field; without omitempty or omitzero it is required
//	unless    a required field may be left out if the body has one of these
//	minimum   of a whole number, as maximum
//	maxItems  of an array
//	null      "zero": null sets a pointer to the zero value, rather than counting as absent
//
// Everything else that the domain requires is checked by the method of checker, if there is one.

// checker is a body that knows what is wrong with its values.
type checker interface {
	check() []video.Fault
}

// fieldDecoder is a type of field that decodes itself.
type fieldDecoder interface {
	decodeField(raw json.RawMessage) (ok bool)
	// must says what the field must be.
	must() string
}

// decode decodes the body of a request into the struct that in points to. It reports all faults at once,
// including faults of the path.
func (c *call) decode(in any, op *operation) error {
	body, err := c.readBody(!op.optionalBody)
	if err != nil {
		return err
	}
	defer c.turn.EndWork()
	faults := c.pathFaults(op)
	if len(body) > 0 || !op.optionalBody {
		ofBody, err := decodeBody(body, in)
		if err != nil {
			return err
		}
		faults = append(faults, ofBody...)
		if op.isChange() {
			faults = append(faults, unknownFields(body, in)...)
		}
	}
	return invalidFields(append(faults, op.faults(c.request)...))
}

// unknownFields returns a fault for each member of a JSON object that the struct which in points to has no field for.
func unknownFields(body []byte, in any) (faults []video.Fault) {
	var known []string
	for _, f := range jsonFields(reflect.TypeOf(in).Elem()) {
		known = append(known, f.name)
	}
	message := "cannot be changed, or is no field; what can be changed is " + strings.Join(known, ", ")
	for quoted := range video.Members(body) {
		if !slices.ContainsFunc(known, func(name string) bool { return isName(quoted, name) }) {
			var name string
			_ = json.Unmarshal(quoted, &name) // the body is valid
			faults = append(faults, video.Fault{Field: shortened(name), Code: "not_allowed", Message: message})
		}
	}
	return faults
}

// decodeBody decodes a JSON object into the struct that in points to, and returns what is wrong with its fields.
// Unknown fields are ignored: see unknownFields. in does not refer to the body afterwards.
func decodeBody(body []byte, in any) ([]video.Fault, error) {
	if err := checkObject(body); err != nil {
		return nil, err
	}
	v := reflect.ValueOf(in).Elem()
	faults := decodeStruct(body, v, "")
	if in, ok := in.(checker); ok {
		faults = mergeFaults(faults, in.check(), jsonFields(v.Type()))
	}
	return faults, nil
}

// invalidFields is the error for a request with faults, or nil. It lists at most maxFaults of them.
func invalidFields(faults []video.Fault) error {
	switch n := len(faults); {
	case n == 0:
		return nil
	case n > maxFaults:
		e := video.InvalidFields(faults[:maxFaults]...)
		e.Msg = fmt.Sprintf("The request has %d invalid fields; errors lists the first %d.", n, maxFaults)
		return e
	}
	return video.InvalidFields(faults...)
}

// mergeFaults adds the faults in more whose field has no fault yet: an element of the wrong type is one fault, not
// also a value out of range, and neither are the fields of what is no object. Faults are in the order of the fields.
func mergeFaults(faults, more []video.Fault, fields []jsonField) []video.Fault {
	wrong := map[string]bool{}
	for _, f := range faults {
		wrong[f.Field] = true
	}
	for _, f := range more {
		object, _, _ := strings.Cut(f.Field, ".")
		if !wrong[f.Field] && !wrong[object] {
			faults = append(faults, f)
		}
	}
	position := func(f video.Fault) int {
		name, _, _ := strings.Cut(strings.ReplaceAll(f.Field, "[", "."), ".")
		if i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == name }); i >= 0 {
			return i
		}
		return len(fields)
	}
	slices.SortStableFunc(faults, func(a, b video.Fault) int { return position(a) - position(b) })
	return faults
}

// jsonField is a field of a struct that has a name in JSON.
type jsonField struct {
	reflect.StructField
	name     string
	required bool
}

func jsonFields(t reflect.Type) (all []jsonField) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			all = append(all, jsonField{f, name, !strings.Contains(options, "omit")})
		}
	}
	return all
}

// decodeStruct decodes an object. at is what the names of its fields begin with in faults. If a name occurs several
// times, the last one counts.
func decodeStruct(object json.RawMessage, v reflect.Value, at string) (faults []video.Fault) {
	fields := jsonFields(v.Type())
	members := make([]json.RawMessage, len(fields))
	for quoted, value := range video.Members(object) {
		if i := slices.IndexFunc(fields, func(f jsonField) bool { return isName(quoted, f.name) }); i >= 0 {
			members[i] = value
		}
	}
	isGiven := func(name string) bool {
		i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == name })
		return i >= 0 && members[i] != nil && string(members[i]) != "null"
	}
	for i, f := range fields {
		raw, to := members[i], v.FieldByIndex(f.Index)
		required := f.required && !slices.ContainsFunc(strings.Split(f.Tag.Get("unless"), ","), isGiven)
		switch {
		case raw == nil && required:
			faults = append(faults, video.Fault{Field: at + f.name, Code: "required", Message: "is required and " + must(to)})
		case raw == nil:
		case string(raw) == "null" && !required:
			if f.Tag.Get("null") == "zero" {
				to.Set(reflect.New(f.Type.Elem()))
			}
		default:
			faults = append(faults, decodeValue(raw, to, at+f.name, f.Tag)...)
		}
	}
	return faults
}

// isName reports whether a JSON string is this name.
func isName(quoted []byte, name string) bool {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text) == name
	}
	var s string
	return json.Unmarshal(quoted, &s) == nil && s == name
}

// decodeValue decodes one value. A value of the wrong type leaves v as it is.
func decodeValue(raw json.RawMessage, v reflect.Value, at string, tag reflect.StructTag) []video.Fault {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	ok := false
	if d, itself := v.Addr().Interface().(fieldDecoder); itself {
		ok = d.decodeField(raw)
	} else {
		switch v.Kind() {
		case reflect.String:
			ok = raw[0] == '"' && json.Unmarshal(raw, v.Addr().Interface()) == nil
		case reflect.Bool:
			v.SetBool(string(raw) == "true")
			ok = v.Bool() || string(raw) == "false"
		case reflect.Float64:
			var n float64
			n, ok = asNumber(raw)
			v.SetFloat(n)
		case reflect.Int, reflect.Int64:
			if strings.Trim(string(raw), "-0123456789") == "" {
				return decodeWhole(raw, v, at, tag)
			}
		case reflect.Slice:
			if raw[0] == '[' {
				return decodeList(raw, v, at, tag)
			}
		case reflect.Struct:
			if raw[0] == '{' {
				return decodeStruct(raw, v, at+".")
			}
		}
	}
	if !ok {
		return []video.Fault{{Field: at, Code: "wrong_type", Message: must(v)}}
	}
	return nil
}

// must says what a value of a type must be.
func must(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = reflect.New(v.Type().Elem()).Elem()
	}
	if d, itself := v.Addr().Interface().(fieldDecoder); itself {
		return d.must()
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Float64: "a number", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Struct: "an object",
	}
	if v.Kind() == reflect.Slice {
		_, element, _ := strings.Cut(kinds[v.Type().Elem().Kind()], " ")
		return "must be an array of " + element + "s"
	}
	return "must be " + kinds[v.Kind()]
}

// asNumber returns infinity for a number that overflows, which is then out of range rather than of the wrong type.
func asNumber(raw json.RawMessage) (float64, bool) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	n, _ := strconv.ParseFloat(string(raw), 64)
	return n, true
}

// decodeWhole decodes a whole number between the minimum and the maximum of its tag.
func decodeWhole(raw json.RawMessage, v reflect.Value, at string, tag reflect.StructTag) []video.Fault {
	least, most := tag.Get("minimum"), tag.Get("maximum")
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < bound(least) || n > bound(most) {
		return []video.Fault{{Field: at, Code: "out_of_range", Message: fmt.Sprintf("%s from %s to %s", must(v), least, most)}}
	}
	v.SetInt(n)
	return nil
}

// bound returns the number in a tag.
func bound(tag string) int64 {
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(fmt.Errorf("a whole number in a body needs a minimum and a maximum: %w", err))
	}
	return n
}

// decodeList decodes the elements of an array. One of the wrong type becomes the zero value, so that later faults
// have the right index. If there are too many, that is one fault, and they are not decoded.
func decodeList(array json.RawMessage, v reflect.Value, at string, tag reflect.StructTag) (faults []video.Fault) {
	most, n := bound(tag.Get("maxItems")), int64(0)
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for raw := range video.Elements(array) {
		if n++; n > most {
			continue // only counted
		}
		element := reflect.New(v.Type().Elem()).Elem()
		faults = append(faults, decodeValue(raw, element, fmt.Sprintf("%s[%d]", at, n-1), tag)...)
		list = reflect.Append(list, element)
	}
	if n > most {
		return []video.Fault{{Field: at, Code: "out_of_range", Message: fmt.Sprintf("must have at most %d elements, has %d", most, n)}}
	}
	v.Set(list)
	return faults
}

// checkObject checks that a body is a JSON object.
func checkObject(body []byte) error {
	if len(body) == 0 {
		return invalidBody("required", "a JSON object is required")
	}
	if !utf8.Valid(body) {
		return invalidBody("malformed_json", "the body is not UTF-8")
	}
	if !json.Valid(body) {
		err := json.Unmarshal(body, new(json.RawMessage)) // finds the same, and says where
		message := "the body is not JSON"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			message += fmt.Sprintf(": %s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset)
		}
		return invalidBody("malformed_json", message)
	}
	if body[0] != '{' {
		return invalidBody("wrong_type", "the body must be a JSON object")
	}
	return nil
}

func invalidBody(code, message string) error {
	return video.InvalidFields(video.Fault{Code: code, Message: message})
}

// faultsIn returns the faults of an Invalid error.
func faultsIn(err error) []video.Fault {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Faults
	}
	return nil
}
