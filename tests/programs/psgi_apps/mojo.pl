#!/usr/bin/perl
# A Mojolicious::Lite application: served as PSGI, and as a CGI script, from one file.
use Mojolicious::Lite -signatures;
app->log->level('fatal');
app->secrets(['a secret of the test']);
app->mode('production');

get '/'           => sub ($c) { $c->stash(name => $c->param('name') // 'nobody'); $c->render(template => 'greeting') };
get '/item/:id'   => sub ($c) { $c->render(json => { id => $c->param('id') }) };
post '/sign'      => sub ($c) { $c->session(name => $c->param('name')); $c->redirect_to('who') };
get '/who'        => sub ($c) { $c->render(text => 'you are ' . ($c->session('name') // 'nobody')) } => 'who';
post '/upload'    => sub ($c) { my $u = $c->req->upload('file'); $c->render(text => join ' ', $u->filename, $u->size, $u->headers->content_type) };
get '/wrong'      => sub ($c) { die "an error of the application\n" };
get '/pieces'     => sub ($c) { $c->res->headers->content_length(8); $c->write("one\n" => sub ($c, @) { $c->write("two\n") }) };
app->start;
__DATA__
@@ greeting.html.ep
<h1>Hello, <%= $name %></h1><a href="<%= url_for '/who' %>">who</a>
