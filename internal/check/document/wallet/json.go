package wallet

import "agegate/internal/rules/strictjson"

// maxDepth is how deeply JSON of a wallet may be nested.
const maxDepth = 16

// readJSON reads one JSON value as strictjson.Read does.
func readJSON(raw []byte) (any, error) {
	value, err := strictjson.Read(raw, maxDepth)
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return value, nil
}

// readJSONObject is readJSON for an object.
func readJSONObject(raw []byte) (map[string]any, error) {
	value, err := readJSON(raw)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, refuse(ReasonMalformed)
	}
	return object, nil
}

// readTexts returns those members of an object that are texts. A missing member is "".
func readTexts(raw []byte, names ...string) (map[string]string, error) {
	object, err := readJSONObject(raw)
	if err != nil {
		return nil, err
	}
	return textsOf(object, names...)
}

// textsOf is readTexts for an object that was read.
func textsOf(object map[string]any, names ...string) (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range names {
		text, ok := object[name].(string)
		if !ok && object[name] != nil {
			return nil, refuse(ReasonMalformed)
		}
		texts[name] = text
	}
	return texts, nil
}
