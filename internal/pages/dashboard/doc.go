// Package dashboard serves a merchant's staff and the operator: the pages below /dashboard and /operator. Handlers are
// thin: the guard admits only who may open the page, the domain decides, and a template shows the result.
//
// The pages are built with the package desk, which does not know them. What the pages
// share is in this package: their list (features.go) and the navigation (navigation.go).
//
// # How to add a page
//
// A page is one Go file, one template and one file of texts for each language. Pages
// that belong together may share them:
//
//		internal/pages/dashboard/keys.go               feature, handlers, views
//		templates/dashboard/keys.html            defines "title" and "content"
//		templates/dashboard/locales/en/keys.json keys begin with "keys."
//		templates/dashboard/locales/de/keys.json the same keys
//
//	 1. keys.go has a function (p *Pages) keys() desk.Feature with the page's routes,
//	    screens, and the texts whose keys are composed at run time; TestTextsExist
//	    finds the other texts. Add it to the list in features (features.go).
//	 2. A desk.Route names its pattern, the minimum role, and with StepUp whether it
//	    needs a recent confirmation. Without one, the guard answers with the page on
//	    which the user confirms. That page leads back to the GET route of the same
//	    pattern, so give this route the same StepUp: then the user confirms before
//	    typing anything. If the pattern has :tenant and :mode, the guard checks
//	    membership and mode, and fills in r.Access and r.Tenant. Take the tenant's ID
//	    from r.Access only. The navigation lists the known patterns (navigation.go)
//	    and shows those that are registered.
//	 3. A handler is func(r *desk.Request) error. It shows a page with
//	    r.Show(status, screen, view), where the view embeds desk.Layout, and ends a
//	    change with r.Done(path, notice), a 303 with a notice. It returns faults; the
//	    desk writes their pages.
//	 4. A desk.Form is declared once and written by {{template "fields" .Form}}
//	    within <form method="post">. An act is a desk.Question. f.Ask adds a page that
//	    asks for confirmation, and the form that acts; f.Fill does the same with your
//	    own page. The form is read, checked by its declaration, and accepted once. If
//	    the domain refuses with an error that the form declares, the form is shown
//	    again with what was typed, except passwords. The comment on desk.Question has
//	    an example.
//	 5. Blocks for templates are in templates/dashboard/blocks: fields, badge, empty,
//	    tile, pager, copy, time; tables and lists of facts are classes of
//	    dashboard.css (see operator.html for a table). A part of a page that updates
//	    itself is a template "part-<name>" inside
//	    <section data-live="<name>" tabindex="-1">; r.Show answers ?part=<name> with
//	    this part, without the frame. For a part, the handler reads only what the part
//	    shows.
//
// Never write a secret into a page that answers GET: those are compressed.
package dashboard
