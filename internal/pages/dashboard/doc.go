// Package dashboard serves a merchant's staff and the operator: the pages
// below /dashboard and /operator. Handlers are thin: the guard lets nobody in
// who may not be there, the domain decides, a template shows the result.
//
// The pages are built with the package desk, which knows none of them. What pages
// share is here: their list (features.go) and the navigation (navigation.go).
//
// # How to add a page
//
// One page is one Go file, one template and one file of texts per language, which
// pages that belong together may share:
//
//		internal/pages/dashboard/keys.go               feature, handlers, views
//		templates/dashboard/keys.html            defines "title" and "content"
//		templates/dashboard/locales/en/keys.json keys begin with "keys."
//		templates/dashboard/locales/de/keys.json the same keys
//
//	 1. keys.go has a function (p *Pages) keys() desk.Feature with the page's routes,
//	    screens and the texts it composes at run time; TestTextsExist finds the others.
//	    Add it to the list in features (features.go); nothing else is shared.
//	 2. A desk.Route names the minimum role, whether it needs a fresh confirmation
//	    (StepUp: the guard then answers with the page to give it, which leads back
//	    to the GET route of the same pattern, so that this asks for it as well,
//	    before anything is typed), and its pattern. :tenant and :mode in the pattern
//	    make the guard check membership and mode and fill in r.Access and r.Tenant.
//	    Take the tenant's ID from r.Access only. The navigation lists the
//	    known patterns (navigation.go) and shows those that are registered.
//	 3. A handler is func(r *desk.Request) error. It shows a page with
//	    r.Show(status, screen, view), where the view embeds desk.Layout, and ends a
//	    change with r.Done(path, notice), a 303 with a notice. It returns any fault;
//	    the desk makes the page of it.
//	 4. A desk.Form is declared once and written by {{template "fields" .Form}}
//	    within <form method="post">. An act is a desk.Question: f.Ask adds the
//	    page that asks and the form that acts, f.Fill the same with a page of your
//	    own. The form is read, checked by its declaration, used up once, and shown
//	    again with what was typed, except passwords, when the domain refuses with an
//	    error that the form declares. The comment on desk.Question has an example.
//	 5. Blocks for templates are in templates/dashboard/blocks: fields, badge, empty,
//	    tile, pager, copy, time; tables and lists of facts are classes of
//	    dashboard.css (see operator.html for a table). A part that changes while it
//	    is looked at is a template "part-<name>" inside
//	    <section data-live="<name>" tabindex="-1">; r.Show answers ?part=<name>. The
//	    part has no frame, and the handler asks for nothing that only the rest shows.
//
// Never write a secret into a page that answers GET: those are compressed.
package dashboard
