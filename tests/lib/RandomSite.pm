package RandomSite;
# Makes a site at random: a tree of files, a configuration in Apache's dialect, and requests. One
# seed always makes the same site. tests/random_sites uses this module.
#
# A configuration is a list of nodes. A node is a line (text), or a section: {open => line, nodes
# => [...], close => line}. Lines that belong together are a section without an `open`. The files
# .htaccess are such lists too. `parts` and `without` let a caller try the site with fewer nodes.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Path qw(make_path);

# How deep sections nest.
my $DEEPEST = 3;

# Scripts print what the server told them. Values that contain the port or a process id are masked
# by `mehari parity`.
my $PRINTED = join ' ', qw(REQUEST_METHOD REQUEST_URI QUERY_STRING SCRIPT_NAME PATH_INFO PATH_TRANSLATED SCRIPT_FILENAME DOCUMENT_ROOT
    CONTENT_LENGTH CONTENT_TYPE REMOTE_USER AUTH_TYPE SERVER_PROTOCOL GATEWAY_INTERFACE REDIRECT_STATUS REDIRECT_URL
    REDIRECT_QUERY_STRING REDIRECT_HANDLER REDIRECT_REMOTE_USER REDIRECT_A REDIRECT_B REDIRECT_ERROR_NOTES
    REDIRECT_REQUEST_METHOD HTTP_X_IN HTTP_ACCEPT_LANGUAGE HTTP_AUTHORIZATION A B C);
my $PRINT = qq(print map { defined \$ENV{\$_} ? "\$_=\$ENV{\$_}\\n" : () } qw($PRINTED); print "read=", length(join '', <STDIN>), "\\n";\n);
my $CGI   = "#!/usr/bin/perl\n";
my %SCRIPT = (
    env      => qq(print "Content-Type: text/plain\\n\\n";\n$PRINT),
    typed    => qq(print "Content-Type: text/html\\nX-A: script\\nETag: \\"script\\"\\nLast-Modified: Tue, 03 Nov 2020 10:00:00 GMT\\n\\n";\n$PRINT),
    status   => qq(print "Status: 404 Not here\\nContent-Type: text/html\\nX-B: script\\n\\nnothing here\\n";\n),
    away     => qq(print "Location: http://elsewhere.test/there\\nX-A: script\\n\\n";\n),
    inside   => qq(print "Location: /sub/page.html?led=1\\nX-A: script\\n\\n";\n),
    language => qq(print "Content-Type: text/html\\nContent-Language: fr\\nCache-Control: max-age=9\\n\\n<p>fran&ccedil;ais\\n";\n),
    untyped  => qq(print "X-A: script\\n\\nno type\\n";\n),
);
my $INCLUDES = "<p><!--#echo var=\"REQUEST_URI\" --> <!--#echo var=\"DOCUMENT_URI\" --> <!--#echo var=\"A\" -->\n"
    . "<!--#include virtual=\"/text.txt\" -->\n<!--#include virtual=\"/sub/script.cgi?part\" -->\n<!--#flastmod virtual=\"/page.html\" -->\n";
my %FILE = (
    (map { ("htdocs/$_" => "<p>$_\n" . 'text ' x 400 . "\n") }
        'index.html', 'page.html', 'sp ace.html', 'UPPER.HTML', 'page.html.bak', 'sub/index.html', 'sub/page.html', 'sub/deep/page.html',
        'listed/one.html', 'listed/two.html', 'lang.html.en', 'lang.html.de', 'sub/home.html', 'elsewhere.html', 'guard/index.html', 'guard/page.html'),
    'htdocs/text.txt'           => "plain text\n" x 30,
    'htdocs/sub/text.txt'       => "sub text\n",
    'htdocs/data.json'          => qq({"a": 1}\n),
    'htdocs/noext'              => "no extension\n",
    'htdocs/picture.png'        => "\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    'htdocs/archive.tar.gz'     => "\x1f\x8b\x08\0\0\0\0\0",
    'htdocs/empty/.keep'        => '',
    'htdocs/nothing.txt'        => '',
    'htdocs/included.shtml'     => $INCLUDES,
    'htdocs/sub/included.shtml' => $INCLUDES,
    'htdocs/lang.var'           => "URI: lang\n\nURI: lang.html.en\nContent-Type: text/html\nContent-Language: en\n\nURI: lang.html.de\nContent-Type: text/html\nContent-Language: de\n",
    'htdocs/plain.cgi'          => "$CGI$SCRIPT{env}",
    'htdocs/as.asis'            => "Status: 201 Made\nContent-Type: text/x-asis\nX-A: asis\n\nas it is\n",
    'other/index.html'          => "<p>other index\n",
    'other/page.html'           => "<p>other page\n",
    'other/text.txt'            => "other text\n",
    'users/passwords'           => "anna:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=\nbert:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=\n",    # admin
    'users/groups'              => "staff: anna\nguests: bert\n",
);
my %PROGRAM = (
    'htdocs/script.cgi'         => "$CGI$SCRIPT{env}",
    'htdocs/script.pl'          => "$CGI$SCRIPT{typed}",
    'htdocs/index.cgi'          => "$CGI$SCRIPT{typed}",
    'htdocs/sub/script.cgi'     => "$CGI$SCRIPT{env}",
    'htdocs/sub/deep/index.cgi' => "$CGI$SCRIPT{env}",
    'htdocs/sub/status.cgi'     => "$CGI$SCRIPT{status}",
    (map { ("cgi-bin/$_.cgi" => "$CGI$SCRIPT{$_}") } sort keys %SCRIPT),
    (map { ("perl/$_.pl" => "$CGI$SCRIPT{$_}") } sort keys %SCRIPT),
    'perl/index.pl'             => "$CGI$SCRIPT{env}",
    'other/script.cgi'          => "$CGI$SCRIPT{env}",
    'other/script.pl'           => "$CGI$SCRIPT{typed}",
);
my $HANDLERS = <<'END';
package Random::Handlers;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::Access ();
use Apache2::SubRequest ();
use APR::Table ();
use Apache2::Const -compile => qw(OK DECLINED FORBIDDEN NOT_FOUND HTTP_UNAUTHORIZED REDIRECT HTTP_SERVICE_UNAVAILABLE);

# Each handler names its phase in a field that also goes with error pages.
sub trace {
    my ($r, $phase) = @_;
    $r->err_headers_out->add('X-Phase' => join ' ', $phase, $r->uri, ($r->filename // '-') =~ s{.*/site/}{}r, $r->is_initial_req ? 'first' : 'later');
    return Apache2::Const::DECLINED;
}
sub trans   { trace($_[0], 'trans') }
sub storage { trace($_[0], 'storage') }
sub parser  { trace($_[0], 'parser') }
sub access  { trace($_[0], 'access'); Apache2::Const::OK }
sub type    { trace($_[0], 'type') }
sub fixup   { trace($_[0], 'fixup') }
sub refuse  { trace($_[0], 'refuse'); Apache2::Const::FORBIDDEN }
sub missing { trace($_[0], 'missing'); Apache2::Const::NOT_FOUND }
sub busy    { trace($_[0], 'busy'); Apache2::Const::HTTP_SERVICE_UNAVAILABLE }
sub named   { my ($r) = @_; $r->headers_out->set('X-A' => 'handler'); $r->subprocess_env(A => 'handler'); $r->headers_in->set('X-In' => 'handler'); Apache2::Const::OK }
sub cached  { my ($r) = @_; $r->headers_out->set('Cache-Control' => 'max-age=5'); Apache2::Const::DECLINED }
sub scripted { my ($r) = @_; $r->handler('cgi-script') if $r->filename =~ /\.pl$/; Apache2::Const::DECLINED }
sub forced  { my ($r) = @_; $r->content_type('text/x-handler'); Apache2::Const::OK }
sub moved   { my ($r) = @_; $r->headers_out->set(Location => '/elsewhere.html'); Apache2::Const::REDIRECT }
sub led     { my ($r) = @_; return Apache2::Const::DECLINED unless $r->is_initial_req; $r->internal_redirect('/sub/page.html?led=2'); Apache2::Const::OK }
sub authen  { my ($r) = @_; my ($status, $password) = $r->get_basic_auth_pw; return $status if $status; return Apache2::Const::OK if $r->user eq $password; $r->note_basic_auth_failure; Apache2::Const::HTTP_UNAUTHORIZED }
sub authz   { my ($r) = @_; $r->user eq 'anna' ? Apache2::Const::OK : Apache2::Const::FORBIDDEN }
sub respond {
    my ($r) = @_;
    $r->content_type('text/plain');
    $r->print(map { "$_\n" } 'handler', $r->method, $r->uri, $r->args // '-', $r->path_info, ($r->filename =~ s{.*/site/}{}r), $r->handler, $r->user // '-', $r->dir_config('V') // '-',
        join(',', $r->dir_config->get('W')), map { $r->subprocess_env($_) // '-' } qw(A B C));
    Apache2::Const::OK;
}
sub declined { Apache2::Const::DECLINED }
1;
END

# The lines of a configuration: a header with the kind, its weight, and the places that may have it
# (`server`, `htaccess` and `location` of the sections; all without a list), then a line for each
# form. `<<one||two>>` stands for one of the texts. ` ;; ` separates lines that belong together.
my $LINES = <<'END';
= header 4
Header <<||||||always ||always ||onsuccess >><<set||append||add||merge||setifempty>> X-A <<one||two||"%{A}e"||"expr=%{REQUEST_URI}"||"%{REQUEST_METHOD}e %%"||"three, four">><<|||||| env=A|| env=!A|| "expr=%{REQUEST_STATUS} == 200"|| "expr=-n %{QUERY_STRING}">>
Header <<||||always >>unset <<X-A||X-B||ETag||Last-Modified||Cache-Control>><<|||| "expr=-n %{QUERY_STRING}">>
Header <<edit X-A one ONE||edit* X-A e E||set Cache-Control no-cache||merge Cache-Control private||set Content-Language it||append Vary X-In||echo X-In||set Link "</a>">>
RequestHeader <<set X-In set||append X-In appended||unset X-In||setifempty X-In empty||edit X-In one ONE||set X-In "%{A}e"||unset Accept-Encoding||set Accept-Language de||merge X-In one||set X-In early early||unset Authorization>>
= env 4
<<SetEnv A 1||SetEnv A 2||SetEnv B "b b"||UnsetEnv A||PassEnv PATH||SetEnv C||SetEnv no-gzip 1||SetEnv force-no-vary 1||SetEnv nokeepalive 1>>
SetEnvIf<<||NoCase>> <<Request_URI "sub" A||Request_URI "/(\w+)" A=$1||Request_Method POST A=post||X-In one B||X-In "^$" B=none||Remote_Addr 127 C=local||A 1 B=a||User-Agent Old !A||Accept-Language de B=de>>
<<BrowserMatch Old A=old||BrowserMatchNoCase NEW B=new||SetEnvIfExpr "%{REQUEST_URI} =~ m#page#" A=page||SetEnvIfExpr "req('X-In') == 'one'" !A C=$0>>
<<PerlSetEnv A perl||PerlSetEnv B perl||PerlPassEnv PATH>>
= media 5
<<AddType text/x-a .txt||AddType text/x-b .html||AddType application/x-c .cgi||RemoveType .html||RemoveType .txt .json||AddType text/html .shtml||AddType application/x-gzip .gz||AddType "text/plain; charset=koi8-r" .bak>>
ForceType <<text/x-forced||None||"text/html; charset=utf-8">>
<<AddDefaultCharset utf-8||AddDefaultCharset Off||AddDefaultCharset On||AddCharset koi8-r .html||AddCharset utf-8 .txt||RemoveCharset .html>>
<<AddLanguage de .de||AddLanguage en .en||DefaultLanguage fr||RemoveLanguage .de||LanguagePriority de en||LanguagePriority en de||ForceLanguagePriority Prefer Fallback||ForceLanguagePriority None||AddLanguage it .html>>
<<AddEncoding x-gzip .gz||AddEncoding gzip .gz||RemoveEncoding .gz||AddEncoding x-bak .bak>>
= options 4
Options <<None||All||Indexes||+Indexes||-Indexes||+ExecCGI||-ExecCGI||ExecCGI FollowSymLinks||+Includes||+IncludesNOEXEC||-Includes||+MultiViews||FollowSymLinks||+FollowSymLinks||-FollowSymLinks||+SymLinksIfOwnerMatch||Indexes Includes ExecCGI>>
MultiviewsMatch <<Any||Handlers||NegotiatedOnly>>
= folder 4
DirectoryIndex <<index.html||index.cgi index.html||page.html||missing.html index.html||disabled||/page.html||/cgi-bin/env.cgi||home.html||index.pl env.pl||missing||deep/page.html||index>>
DirectoryIndexRedirect <<on||permanent||off||temp>>
DirectorySlash <<Off||On>>
FallbackResource <</page.html||/cgi-bin/env.cgi||disabled||/missing||/perl/env.pl||/script.cgi||/handler>>
<<IndexOptions FancyIndexing||IndexOptions +FancyIndexing +HTMLTable||IndexIgnore *.html||IndexOptions Charset=utf-8||HeaderName page.html||ReadmeName text.txt||IndexOptions IgnoreCase FoldersFirst NameWidth=*||IndexOrderDefault Descending Size||AddDescription "described" *.html||IndexIgnoreReset ON||IndexOptions None||IndexOptions Type=text/x-list>>
= error 2
ErrorDocument <<404||404||404||403||401||500||405||412||416>> <</page.html||/cgi-bin/env.cgi||/perl/env.pl||"text of an error"||default||/missing||http://elsewhere.test/error||/sub/script.cgi?error||/included.shtml||/perl/status.pl||/handler||/listed/||/guard/page.html||/text.txt>>
= redirect 1 server htaccess
<<Redirect /moved /sub/page.html||Redirect 301 /page.htm http://elsewhere.test/x||Redirect gone /missing||RedirectMatch ^/moved(.*) /text.txt$1||RedirectMatch 404 \.bak$||Redirect 410 /listed||RedirectMatch 303 (.*)\.htm$ $1.html||Redirect permanent /sub/deep /sub>>
= redirect 1 location
<<Redirect 302 "http://elsewhere.test/%{REQUEST_URI}"||Redirect 410||Redirect 301 /page.html>>
= rewrite 3
RewriteEngine On ;; <<||||||RewriteOptions <<Inherit||InheritBefore||AllowNoSlash||IgnoreInherit||MergeBase>>>> ;; <<||||RewriteCond <<%{REQUEST_FILENAME} !-f||%{REQUEST_FILENAME} -d||%{QUERY_STRING} a=(\d)||%{REQUEST_URI} sub||%{REQUEST_METHOD} =POST||%{ENV:A} =1||%{HTTP:X-In} one [NC]||expr "%{REQUEST_URI} =~ m#page#"||%{LA-U:REQUEST_FILENAME} page||%{REQUEST_URI} !elsewhere||%{ENV:REDIRECT_STATUS} ^$||%{DOCUMENT_ROOT}%{REQUEST_URI} -f>>>> ;; RewriteRule <<^/?moved$ /page.html||^/?missing(.*) /sub/page.html||^/?missing/(.*) /text.txt?more=$1 [QSA]||page\.htm$ - [E=A:rewritten]||^(.*)\.html$ $1.txt||^/?sub/(.*) /other/$1 [PT]||^/?moved http://elsewhere.test/$1 [R=301,L]||missing - [F]||^/?listed - [G]||. - [E=B:%1]||script - [H=cgi-script]||\.pl$ - [T=text/x-rewritten]||^/?page$ /page.html [L]||^/?guard/(.*) /sub/$1||^ - [E=C:%{REQUEST_URI}]||^ - [CO=c:1:example.test]||^/?text /cgi-bin/env.cgi/$0 [PT,NS]||^/?handler /perl/env.pl [PT]||^/?empty/ - [R=404]||^/?sub$ /sub/ [R,QSD]||(.*) $1?r=%{ENV:A} [NS,QSA]||^/?deep /sub/deep/ [DPI]||^/?noext - [S=1]||^/?upper(.*) /UPPER$1 [NC,END]||^/?other/(.*)$ /sub/$1 [N=3]>>
RewriteEngine On ;; RewriteBase <</||/sub/||/other/>> ;; RewriteRule <<^moved$ page.html||^missing(.*) sub/page.html||^page$ page.html [L]||^deep deep/ [DPI]>>
= access 5
Require <<all granted||all granted||all denied||ip 127.0.0.1||ip 10.0.0.0/8||local||env A||method GET HEAD||not ip 10||expr %{REQUEST_URI} =~ m#page#||valid-user||user anna||group staff||not user bert||host localhost>>
Order <<allow,deny||deny,allow>> ;; <<Allow from all||Allow from 127.0.0.1||Deny from 127.0.0.1||Allow from env=A||Deny from env=B||Deny from all>> ;; <<||||Satisfy Any||Satisfy All>>
AuthType Basic ;; AuthName "<<one||two>>" ;; AuthUserFile "SITE/users/passwords" ;; AuthGroupFile "SITE/users/groups" ;; Require <<valid-user||user anna||group staff||user bert||valid-user>> ;; <<||||AuthMerging And||AuthMerging Or||AuthMerging Off||AuthBasicAuthoritative Off||Satisfy Any||Require method GET||Require all granted||Require ip 127.0.0.1||AuthzSendForbiddenOnFailure On>>
= access 1 server location
AllowMethods <<GET||GET POST||reset||+PUT||POST>>
= file 2
<<ExpiresActive On ;; ExpiresDefault "access plus 1 hour"||ExpiresActive On ;; ExpiresByType text/html A60||ExpiresActive On ;; ExpiresDefault M3600||ExpiresActive On ;; ExpiresByType text/plain "modification plus 2 days"||ExpiresActive On ;; ExpiresByType text/* A7>>
FileETag <<None||Size||MTime Size||All||+INode||-MTime>>
AcceptPathInfo <<On||Off||Default>>
<<EnableMMAP Off||EnableSendfile Off||CheckSpelling On||CheckCaseOnly On||CheckSpelling Off>>
= limit 1 server location
LimitRequestBody <<0||5||1000>>
= handler 4
<<SetHandler cgi-script||SetHandler None||SetHandler default-handler||AddHandler cgi-script .pl||AddHandler cgi-script .cgi||RemoveHandler .cgi||AddHandler type-map .var||AddHandler server-parsed .shtml>>
Action own-action /cgi-bin/env.cgi<<|| virtual>> ;; <<SetHandler own-action||AddHandler own-action .txt>>
<<Action text/plain /cgi-bin/env.cgi||Script PUT /cgi-bin/env.cgi||Action text/html /missing.cgi||CGIPassAuth On||CGIPassAuth Off>>
= filter 3
<<SetOutputFilter DEFLATE||AddOutputFilter INCLUDES .shtml||AddOutputFilter INCLUDES .html||SetOutputFilter INCLUDES||AddOutputFilterByType DEFLATE text/html text/plain||AddOutputFilterByType INCLUDES text/html||RemoveOutputFilter .shtml||AddOutputFilter INCLUDES;DEFLATE .shtml||XBitHack Full||XBitHack On||SSIUndefinedEcho "nothing"||SetInputFilter DEFLATE||SetOutputFilter NONE>>
SetOutputFilter SUBSTITUTE ;; Substitute <<s/text/TEXT/||"s|<p>|<div>|i"||s/T/t/n>>
= perl 8
Perl<<HeaderParserHandler Random::Handlers::<<parser||cached>>||AccessHandler Random::Handlers::<<access||named||refuse||moved>>||TypeHandler Random::Handlers::<<type||forced>>||FixupHandler Random::Handlers::<<fixup||named||cached||missing||scripted||forced||busy>>||LogHandler Random::Handlers::declined||CleanupHandler Random::Handlers::declined>>
<<PerlSetVar V one||PerlSetVar V two||PerlAddVar W three||PerlAddVar W four||PerlSetVar W five>>
AuthType Basic ;; AuthName perl ;; PerlAuthenHandler Random::Handlers::authen ;; <<PerlAuthzHandler Random::Handlers::authz||>> ;; Require valid-user
= perl 2 location htaccess
SetHandler <<modperl||modperl||perl-script>> ;; PerlResponseHandler <<Random::Handlers::<<respond||respond||declined||led>>||ModPerl::Registry||ModPerl::Registry||ModPerl::PerlRun>>
= perl 2 server
PerlTransHandler Random::Handlers::trans
PerlMapToStorageHandler Random::Handlers::storage
PerlOptions <<+SetupEnv||-SetupEnv||+GlobalRequest||+ParseHeaders||+MergeHandlers>>
= map 2 server
<<Alias /other "SITE/other"||Alias /other/ "SITE/other/"||AliasMatch ^/o(\w+)/(.*) "SITE/other/$2"||Alias /guard "SITE/htdocs/sub"||Alias /handler "SITE/htdocs/page.html"||Alias /missing "SITE/htdocs/text.txt">>
<<ScriptAlias /cgi-bin/ "SITE/cgi-bin/"||ScriptAlias /sub/script.cgi "SITE/cgi-bin/env.cgi"||ScriptAliasMatch ^/run/(\w+) "SITE/cgi-bin/$1.cgi"||ScriptAlias /perl/ "SITE/perl/">>
<<MergeSlashes Off||MergeSlashes On||UseCanonicalName On||ServerSignature EMail||AllowEncodedSlashes On>>
= override 2 directory
AllowOverride <<All||All||All||None||FileInfo||AuthConfig Limit||Options=Indexes,ExecCGI FileInfo||Indexes Nonfatal=All>>
END

# The sections of a place. Those within a section name the section `within`.
my %SECTIONS = (
    server => [
        ('Directory "SITE/<<htdocs||htdocs||htdocs/sub||htdocs/sub/deep||htdocs/listed||htdocs/empty||perl||other||cgi-bin||htdocs/guard||htdocs/*||htdocs/s*||*/sub||htdocs/missing>>"') x 3,
        'DirectoryMatch "<</sub||htdocs/s.*$||/deep/?$||(?i)/OTHER||/htdocs/(?!sub)||/perl$>>"',
        ('Location "<</||/sub||/sub/||/sub/page.html||/other||/cgi-bin||/perl||/handler||/listed||/missing||/s*||/*/page.html||/guard||/script.cgi||/sub/deep/>>"') x 2,
        'LocationMatch "<<^/sub||\.(?:txt|json)$||page||^/(?<part>\w+)/||^/$||/$||\.cgi>>"',
    ],
    within => ['Limit <<GET||POST||GET POST||PUT DELETE||OPTIONS>>', 'LimitExcept <<GET||GET POST||POST OPTIONS>>', 'RequireAny', 'RequireAll'],
);
my @EVERYWHERE = (
    'Files "<<*.html||page.html||*.cgi||*.pl||index.*||text.txt||*||noext||?age.html||missing*>>"',
    'FilesMatch "<<\.html$||^page||\.(?:cgi|pl)$||.||^index||^$>>"',
    q{If "<<%{REQUEST_METHOD} == 'POST'||%{REQUEST_URI} =~ m#/sub#||-n %{QUERY_STRING}||%{HTTP:X-In} == 'one'||-f %{REQUEST_FILENAME}||-d %{REQUEST_FILENAME}||%{HTTP_USER_AGENT} =~ /Old/||!-e %{REQUEST_FILENAME}||%{HANDLER} == 'cgi-script'||reqenv('A') == '1'||true||req('Accept-Language') -in {'de', 'fr'}||%{REMOTE_ADDR} -ipmatch '127.0.0.0/8'||%{IS_SUBREQ} == 'true'||%{CONTENT_TYPE} == 'text/html'>>"},
);

my $PATHS = join '||', qw(/ /index.html /page.html /text.txt /sub /sub/ /sub/page.html /sub/deep/ /sub/deep/page.html /listed/ /empty/ /script.cgi /script.pl /plain.cgi
    /sub/script.cgi /sub/script.cgi/more/info /sub/status.cgi /included.shtml /sub/included.shtml /noext /picture.png /archive.tar.gz /missing /missing/more /sub/missing.html
    /other/ /other /other/page.html /other/text.txt /other/script.cgi /other/script.pl /cgi-bin/env.cgi /cgi-bin/env.cgi/info /cgi-bin/ /cgi-bin/missing /perl/ /perl/env.pl
    /perl/env.pl/info /perl/missing.pl /lang /lang.html /lang.var /guard/ /guard/page.html /guard/missing /handler /handler/info /sp%20ace.html /UPPER.HTML /upper.html /page.htm
    /page /page.html/info /text.txt/info /sub/deep /data.json /nothing.txt /elsewhere.html /moved /listed /index.cgi /.htaccess /sub//page.html /sub/../page.html /sub/home.html),
    map { ("/cgi-bin/$_.cgi", "/perl/$_.pl") } sort keys %SCRIPT;
my $METHODS = join '||', ('GET') x 12, ('HEAD') x 3, ('POST') x 3, qw(OPTIONS PUT DELETE PROPFIND);
# The fields of a request, each with its share in percent.
my @FIELDS = (
    ['Accept-Encoding',   25, 'gzip||deflate, gzip||identity'],
    ['Accept-Language',   25, 'de||en, de;q=0.5||fr'],
    ['Authorization',     30, 'Basic YW5uYTphZG1pbg==||Basic YmVydDphZG1pbg==||Basic YW5uYTp3cm9uZw==||Basic YW5uYTphbm5h'],
    ['Range',             10, 'bytes=0-4||bytes=-3||bytes=5-||bytes=9999-'],
    ['If-Modified-Since', 10, 'Tue, 03 Nov 2020 10:00:00 GMT||Sun, 01 Jan 2023 00:00:00 GMT||nonsense'],
    ['If-None-Match',      7, '"script"||"other"'],
    ['X-In',              15, 'one||two'],
    ['User-Agent',        15, 'Old/1.0||New/2.0'],
    ['Accept',            15, 'text/html||text/plain;q=0.3, */*||image/png'],
    ['Cookie',             5, 'c=1'],
);

sub new {
    my ($class, $seed) = @_;
    my $self = bless {state => $seed * 2_654_435_761 % 4_294_967_296}, $class;
    $self->below(10) for 1 .. 5;
    my @folders = grep { $self->chance(25) } qw(htdocs htdocs/sub htdocs/sub/deep htdocs/listed perl other htdocs/guard);
    $self->{hidden}   = {map { ($_ => [$self->nodes('htaccess', 1)]) } @folders};
    $self->{nodes}    = [map { $self->chance(30) ? $self->line('server') : $self->section('server', 1) } 1 .. 5 + $self->below(9)];
    $self->{requests} = [map { $self->request } 1 .. 90];
    return $self;
}

# A small generator of our own gives the same numbers on every perl.
sub below {
    my ($self, $limit) = @_;
    $self->{state} = ($self->{state} * 1_103_515_245 + 12_345) % 2_147_483_648;
    return int($self->{state} / 65_536) % $limit;
}
sub one { my ($self, @of) = @_; return $of[$self->below(scalar @of)] }
sub chance { my ($self, $percent) = @_; return $self->below(100) < $percent }

# Chooses one text of each `<<one||two>>`, the innermost first.
sub expand {
    my ($self, $text) = @_;
    1 while $text =~ s/<<((?:(?!<<|>>).)*)>>/$self->one(split m{\|\|}, $1, -1)/e;
    return $text;
}

sub request {
    my ($self) = @_;
    my $path   = $self->expand("<<$PATHS>>") . $self->one('', '', '', '?a=1', '?x', '?');
    my $method = $self->expand("<<$METHODS>>");
    my %fields = map { $self->chance($_->[1]) ? ($_->[0] => $self->expand("<<$_->[2]>>")) : () } @FIELDS;
    my $body   = $method =~ /^P(?:OST|UT)$/ ? $self->one('', 'a=2', 'long ' x 8) : '';
    return {method => $method, path => $path, fields => \%fields, body => $body};
}

sub nodes {
    my ($self, $place, $depth) = @_;
    return map { $depth < $DEEPEST && $self->chance(18) ? $self->section($place, $depth) : $self->line($place) } 1 .. 1 + $self->below(4);
}

sub section {
    my ($self, $place, $depth) = @_;
    my @known = $place eq 'limit' ? () : $place eq 'server' ? (@{$SECTIONS{server}}, @EVERYWHERE) : (@{$SECTIONS{within}}, $place eq 'within' ? () : @EVERYWHERE);
    return $self->line($place) unless @known;
    my $open  = $self->expand($self->one(@known));
    my ($name) = $open =~ /^(\w+)/;
    my $inner = $name =~ /^(?:Limit|Require)/ ? 'limit' : $name =~ /^(?:If|Files)/ ? 'within' : $name =~ /^Location/ ? 'location' : 'directory';
    my $node  = {open => "<$open>", close => "</$name>", nodes => [$self->nodes($inner, $depth + 1)]};
    return $node unless $name eq 'If' && $self->chance(30);
    return {open => '', close => '', nodes => [$node, {open => '<Else>', close => '</Else>', nodes => [$self->line($inner)]}]};
}

# The lines of each place, each as often as it weighs.
my %known;
sub line {
    my ($self, $place) = @_;
    $known{$place} //= [map { lines_of($place, $_) } grep { /\S/ } split /^= /m, $LINES];
    my @lines = grep { length } split /\s*;;\s*/, $self->expand($self->one(@{$self->one(@{$known{$place}})}));
    return @lines == 1 ? $lines[0] : {open => '', close => '', nodes => \@lines};
}

sub lines_of {
    my ($place, $block) = @_;
    my ($header, @lines) = split /\n/, $block;
    my ($kind, $weight, @places) = split ' ', $header;
    my %has = map { $_ => 1 } @places, $place eq 'limit' ? () : map { $_ eq 'location' ? ('directory', 'within') : () } @places;
    return if @places && !$has{$place};
    return if $place eq 'limit' && $kind ne 'access';
    return (\@lines) x $weight;
}

# Lists the positions of all nodes, the outer ones first: each is a list of numbers below a root,
# `nodes` or a folder with an .htaccess file.
sub parts {
    my ($self) = @_;
    my @parts;
    my $walk; $walk = sub {
        my ($nodes, @at) = @_;
        for my $number (0 .. $#$nodes) {
            push @parts, [@at, $number];
            $walk->($nodes->[$number]{nodes}, @at, $number) if ref $nodes->[$number];
        }
    };
    $walk->($self->{nodes}, '');
    $walk->($self->{hidden}{$_}, $_) for sort keys %{$self->{hidden}};
    return @parts;
}

# Returns the same site without one node.
sub without {
    my ($self, $part) = @_;
    my ($root, @at) = @$part;
    my $less; $less = sub {
        my ($nodes, $first, @rest) = @_;
        my @copy = @$nodes;
        if (@rest) { $copy[$first] = {%{$copy[$first]}, nodes => $less->($copy[$first]{nodes}, @rest)} }
        else       { splice @copy, $first, 1 }
        return \@copy;
    };
    return bless {%$self, nodes => $less->($self->{nodes}, @at)}, ref $self if $root eq '';
    return bless {%$self, hidden => {%{$self->{hidden}}, $root => $less->($self->{hidden}{$root}, @at)}}, ref $self;
}

# Returns the position of the node on a line, counted from 0, of the configuration ('') or of a
# folder's .htaccess.
sub part_on {
    my ($self, $root, $line) = @_;
    my ($found, $walk);
    $walk = sub {
        my ($nodes, @at) = @_;
        for my $number (0 .. $#$nodes) {
            my $node  = $nodes->[$number];
            my $shown = !ref $node || $node->{open} ne '';
            $found //= [@at, $number] if $shown && $line-- == 0;
            next unless ref $node;
            $walk->($node->{nodes}, @at, $number);
            $found //= [@at, $number] if $shown && $line-- == 0;
        }
    };
    $walk->($root eq '' ? $self->{nodes} : $self->{hidden}{$root}, $root);
    return $found;
}

sub text {
    my ($nodes, $indent) = @_;
    return join '', map {
        !ref $_             ? "$indent$_\n"
        : $_->{open} eq ''  ? text($_->{nodes}, $indent)
        :                     "$indent$_->{open}\n" . text($_->{nodes}, "$indent    ") . "$indent$_->{close}\n"
    } @$nodes;
}

# The text of the configuration, and of the files .htaccess by folder.
sub configuration { my ($self) = @_; return text($self->{nodes}, '') }
sub hidden        { my ($self) = @_; return map { ($_ => text($self->{hidden}{$_}, '')) } grep { @{$self->{hidden}{$_}} } keys %{$self->{hidden}} }

# Writes the files of all sites, without configuration, below a folder. All files have one time.
sub write_files {
    my ($class, $folder) = @_;
    my %text = (%FILE, %PROGRAM, 'lib/Random/Handlers.pm' => $HANDLERS);
    for my $name (sort keys %text) {
        my $path = "$folder/$name";
        make_path(dirname($path));
        open my $file, '>:raw', $path or die "$path: $!\n";
        print $file $text{$name};
        close $file or die "$path: $!\n";
        chmod exists $PROGRAM{$name} ? 0755 : 0644, $path;
        utime 1_600_000_000, 1_600_000_000, $path;
    }
}

1;
