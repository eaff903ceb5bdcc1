/* Macros that windows.h (windef.h, rpcndr.h, wingdi.h, winnt.h, winuser.h, objbase.h ..) and Microsoft's math.h define
   with plain words as names. The five headers must compile after them. */
#define near
#define far
#define NEAR
#define FAR
#define pascal __stdcall
#define cdecl
#define PASCAL    __stdcall
#define CDECL     __cdecl
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define small     char
#define hyper     __int64
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID  void
#define TRUE  1
#define FALSE 0
#define STRICT
#define UNICODE
#define TEXT(quote) L##quote
#define DELETE      0x00010000L
#define ERROR       0
#define NO_ERROR    0L
#define ABSOLUTE    1
#define RELATIVE    2
#define OPAQUE      2
#define TRANSPARENT 1
#define ALTERNATE   1
#define WINDING     2
#define INFINITE    0xFFFFFFFF
#define IGNORE      0
#define DOMAIN      1
#define SING        2
#define OVERFLOW    3
#define UNDERFLOW   4
#define TLOSS       5
#define PLOSS       6
#define THIS        void
#define THIS_       void,
#define PURE        = 0
#define UNALIGNED
#define Yield()
#define CALLBACK     __stdcall
#define WINAPI       __stdcall
#define APIENTRY     WINAPI
#define GetObject    GetObjectA
#define CreateFile   CreateFileA
#define DeleteFile   DeleteFileA
#define LoadLibrary  LoadLibraryA
#define SendMessage  SendMessageA
#define GetMessage   GetMessageA
#define ReportEvent  ReportEventA
#define RGB(r, g, b) ((r) | ((g) << 8) | ((b) << 16))
#define PASSTHROUGH  19
